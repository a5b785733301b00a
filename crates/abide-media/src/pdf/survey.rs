//! What a page consists of, found by going through it without drawing.

use hayro::hayro_interpret::font::GlyphRun;
use hayro::hayro_interpret::hayro_syntax::page::Page;
use hayro::hayro_interpret::util::TransformExt;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, RasterImage, SoftMask, interpret_page,
};
use hayro::hayro_syntax::Filter;
use hayro::hayro_syntax::object::{Dict, Name, Object, Stream};
use hayro::kurbo::{Affine, BezPath, Rect};

use super::LOST_IMAGE;
use super::damage::is_corrupt;
use super::text::Lines;
use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::jpeg;
use crate::pixels::Orientation;

/// What a page consists of.
pub(super) struct Survey {
    /// Its text, visible or laid invisibly over a scan.
    pub(super) text: String,
    /// Set if it is one scan and nothing else that can be seen.
    pub(super) scan: Option<Scan>,
    /// Set if the scan is a JPEG that can stand for the page as it is.
    pub(super) copyable: Option<Copyable>,
    /// What is wrong with an image on it.
    pub(super) damage: Option<&'static str>,
    /// Set if images cover the page, whatever else is on it: pixels per point of the finest of them.
    pub(super) finest: Option<f32>,
}

/// Pixels of the scan per point of the page.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) across: f32,
    pub(super) down: f32,
}

pub(super) struct Copyable {
    pub(super) bytes: Vec<u8>,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// How much of the page a scan covers at least, and by how much it may overhang.
const COVERS: f64 = 0.95;
/// How much of the page an image covers at least whose resolution counts.
const COUNTS: f64 = 0.05;
/// By how many points a page may be cut without anybody seeing it.
const UNSEEN: f64 = 0.5;

pub(super) fn survey<'a>(page: &'a Page<'a>, bounds: &Bounds) -> Result<Survey, MediaError> {
    let (width, height) = page.render_dimensions();
    let shown = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let cache = InterpreterCache::new();
    let transform = page.initial_transform(true).to_kurbo();
    let mut context = Context::new(transform, shown, &cache, page.xref(), InterpreterSettings::default());
    let mut surveyor = Surveyor {
        shown,
        pixels: bounds.pixels,
        lines: Lines::new(bounds.text_bytes),
        scan: None,
        copyable: None,
        images: 0,
        marks: 0,
        covered: 0.0,
        finest: 0.0,
        clips: Vec::new(),
        groups: Vec::new(),
        too_large: None,
        is_damaged: false,
        most_bytes: bounds.memory_bytes,
    };
    interpret_page(page, &mut context, &mut surveyor);
    if let Some(pixels) = surveyor.too_large {
        within("an image on a page in pixels", pixels, bounds.pixels)?;
    }
    let alone = surveyor.images == 1 && surveyor.marks == 0;
    Ok(Survey {
        damage: surveyor.is_damaged.then_some(LOST_IMAGE),
        text: surveyor.lines.finish()?,
        scan: surveyor.scan.filter(|_| alone),
        copyable: surveyor.copyable.filter(|_| alone),
        finest: (surveyor.covered >= COVERS * shown.area()).then_some(surveyor.finest as f32),
    })
}

struct Surveyor {
    shown: Rect,
    pixels: u64,
    lines: Lines,
    scan: Option<Scan>,
    copyable: Option<Copyable>,
    images: u32,
    /// Visible things other than images.
    marks: u32,
    /// The area of images, and pixels per point of the finest.
    covered: f64,
    finest: f64,
    /// Whether each clip and each group that is open changes what is seen of an image in it.
    clips: Vec<bool>,
    groups: Vec<bool>,
    too_large: Option<u64>,
    is_damaged: bool,
    /// Bytes of an image that are looked at.
    most_bytes: u64,
}

impl<'a> Device<'a> for Surveyor {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, _: &DrawMode) {
        use hayro::kurbo::Shape;
        let covered = (props.transform * path.clone()).bounding_box().intersect(self.shown);
        // Paper that is painted before the scan hides nothing of it.
        let paper = self.images == 0 && covered.area() >= COVERS * self.shown.area();
        if covered.area() > 0.0 && !paper {
            self.marks += 1;
        }
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        self.lines.add(run, props.transform);
        if !matches!(mode, DrawMode::Invisible) {
            self.marks += 1;
        }
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        self.images += 1;
        let pixels = u64::from(image.width()) * u64::from(image.height());
        if pixels > self.pixels {
            self.too_large = Some(pixels);
        }
        if let Image::Raster(raster) = &image {
            self.is_damaged |= is_corrupt(raster.stream(), self.most_bytes);
        }
        let is_changed = props.soft_mask.is_some()
            || props.blend_mode != BlendMode::Normal
            || self.clips.iter().chain(&self.groups).any(|changes| *changes);
        // The image is a square of one point, as the library hands it over: one unit per pixel of it.
        let placed = placement(&image, props.transform);
        let Some(placed) = placed else { return };
        let area = placed.rect.intersect(self.shown).area();
        self.covered += area;
        let (wide, high) =
            if placed.turned { (image.height(), image.width()) } else { (image.width(), image.height()) };
        if area >= COUNTS * self.shown.area() {
            let (across, down) =
                (f64::from(wide) / placed.rect.width(), f64::from(high) / placed.rect.height());
            self.finest = self.finest.max(across.max(down));
        }
        if area < COVERS * self.shown.area() {
            return;
        }
        self.scan = Some(Scan {
            across: (f64::from(wide) / placed.rect.width()) as f32,
            down: (f64::from(high) / placed.rect.height()) as f32,
        });
        let whole = placed.rect.area() * COVERS <= self.shown.area() && !is_changed;
        if let (Image::Raster(raster), true, true) = (&image, placed.upright, whole) {
            self.copyable = copyable(raster, self.pixels);
        }
    }

    fn push_clip_path(&mut self, clip: &ClipPath) {
        use hayro::kurbo::Shape;
        let (around, shown) = (clip.path.bounding_box(), self.shown.inset(-UNSEEN));
        let is_rect = clip.path.area().abs() >= 0.999 * around.area();
        let is_around = around.union(shown) == around;
        self.clips.push(!(is_rect && is_around));
    }

    fn push_transparency_group(&mut self, opacity: f32, mask: Option<SoftMask<'a>>, blend: BlendMode) {
        self.groups.push(opacity < 1.0 || mask.is_some() || blend != BlendMode::Normal);
    }

    fn pop_clip(&mut self) {
        self.clips.pop();
    }

    fn pop_transparency_group(&mut self) {
        self.groups.pop();
    }
}

struct Placement {
    rect: Rect,
    turned: bool,
    upright: bool,
}

/// Where an image falls on the page; none if it is skewed.
fn placement(image: &Image<'_, '_>, transform: Affine) -> Option<Placement> {
    let [a, b, c, d, _, _] = transform.as_coeffs();
    let straight = b.abs() + c.abs() < 1e-3 * (a.abs() + d.abs());
    let turned = a.abs() + d.abs() < 1e-3 * (b.abs() + c.abs());
    if !straight && !turned {
        return None;
    }
    let unit = Rect::new(0.0, 0.0, f64::from(image.width()), f64::from(image.height()));
    let rect = transform.transform_rect_bbox(unit);
    (rect.width() > 0.0 && rect.height() > 0.0).then_some(Placement {
        rect,
        turned,
        upright: straight && a > 0.0 && d > 0.0,
    })
}

/// A plain gray or RGB JPEG that means the same outside the document.
fn copyable(raster: &RasterImage<'_>, most_pixels: u64) -> Option<Copyable> {
    let stream: &Stream<'_> = raster.stream();
    let dict: &Dict<'_> = stream.dict();
    if stream.filters().as_slice() != [Filter::DctDecode] {
        return None;
    }
    let altered = [&b"SMask"[..], b"Mask", b"Decode", b"DecodeParms", b"DP", b"D"];
    if altered.into_iter().any(|key| dict.contains_key(key)) {
        return None;
    }
    let bytes = stream.raw_data();
    let header = jpeg::header(&bytes).ok()?;
    let plain = match dict.get::<Object<'_>>(b"ColorSpace".as_slice()) {
        Some(Object::Name(name)) => named(&name, header.components),
        // Only profiles are arrays that leave the numbers as they are.
        Some(Object::Array(array)) => array
            .iter::<Object<'_>>()
            .next()
            .is_some_and(|first| matches!(&first, Object::Name(name) if &**name == b"ICCBased")),
        _ => false,
    };
    let sound = u64::from(header.width) * u64::from(header.height) <= most_pixels;
    let agrees = (header.width, header.height) == (raster.width(), raster.height());
    let kept = plain
        && sound
        && agrees
        && matches!(header.components, 1 | 3)
        && header.orientation == Orientation::UPRIGHT;
    kept.then(|| Copyable { width: header.width, height: header.height, bytes: bytes.into_owned() })
}

fn named(name: &Name<'_>, components: usize) -> bool {
    matches!((&**name, components), (b"DeviceRGB" | b"CalRGB", 3) | (b"DeviceGray" | b"CalGray", 1))
}
