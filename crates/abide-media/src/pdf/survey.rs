//! What a page consists of, found by going through it without drawing.

use std::collections::BTreeMap;

use hayro::hayro_interpret::font::GlyphRun;
use hayro::hayro_interpret::hayro_syntax::page::Page;
use hayro::hayro_interpret::util::TransformExt;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, Paint, RasterImage, SoftMask, interpret_page,
};
use hayro::hayro_syntax::Filter;
use hayro::hayro_syntax::object::{Dict, Name, Object, Stream};
use hayro::kurbo::{Affine, BezPath, Rect, Shape};

use super::POINTS_PER_INCH;
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
    pub(super) scan: Option<Density>,
    /// The finest of the images that together cover half of it.
    pub(super) images: Option<Density>,
    /// Set if the scan is a JPEG that can stand for the page as it is.
    pub(super) copyable: Option<Copyable>,
}

/// Pixels of images per point of the page.
#[derive(Clone, Copy)]
pub(super) struct Density {
    pub(super) across: f32,
    pub(super) down: f32,
}

/// By how much the densities of a page may differ without being seen.
const UNEVEN: f32 = 1.1;

impl Density {
    /// Whether the pixels are squares, or nearly: nobody who shows an image looks at its density.
    pub(super) fn is_even(self) -> bool {
        self.across.max(self.down) <= UNEVEN * self.across.min(self.down)
    }

    /// The same for pixels that are squares, so that no row or column is lost.
    pub(super) fn evened(self) -> Density {
        if self.is_even() {
            return self;
        }
        let finer = self.across.max(self.down);
        Density { across: finer, down: finer }
    }
}

pub(super) struct Copyable {
    pub(super) bytes: Vec<u8>,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// How much of the page a scan covers at least.
const COVERS: f64 = 0.95;
/// By which part of a side of the page a scan that is copied may overhang. No line of text fits into it.
const OVERHANG: f64 = 0.005;
/// How much of the page images cover whose density is that of the page.
const SETS_DENSITY: f64 = 0.5;

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
        clips: Vec::new(),
        groups: Vec::new(),
        densities: BTreeMap::new(),
        scan: None,
        copyable: None,
        images: 0,
        marks: 0,
        coloured_paper: false,
        too_large: None,
    };
    interpret_page(page, &mut context, &mut surveyor);
    if let Some(pixels) = surveyor.too_large {
        within("an image on a page in pixels", pixels, bounds.pixels)?;
    }
    let alone = surveyor.images == 1 && surveyor.marks == 0;
    Ok(Survey {
        images: surveyor.density(),
        text: surveyor.lines.finish()?,
        scan: surveyor.scan.filter(|_| alone),
        copyable: surveyor.copyable.filter(|_| alone && surveyor.scan.is_some_and(Density::is_even)),
    })
}

struct Surveyor {
    shown: Rect,
    pixels: u64,
    lines: Lines,
    clips: Vec<Clip>,
    /// For each group that is open, whether it shows what is in it as it is.
    groups: Vec<bool>,
    /// By dots per inch: which part of the page images of that density cover.
    densities: BTreeMap<u32, Covered>,
    scan: Option<Density>,
    copyable: Option<Copyable>,
    images: u32,
    /// Visible things other than images.
    marks: u32,
    /// Something other than white was painted over the whole page before any image.
    coloured_paper: bool,
    too_large: Option<u64>,
}

struct Clip {
    rect: Rect,
    /// Set if it shows all of its rectangle.
    whole: bool,
}

struct Covered {
    area: f64,
    density: Density,
}

impl Surveyor {
    /// Whether what is in this part of the page is seen as it is, to a margin.
    fn shows(&self, part: Rect, margin: f64) -> bool {
        let part = part.inset(-margin);
        let clipped = |clip: &Clip| !clip.whole || clip.rect.intersect(part) != part;
        self.groups.iter().all(|shows| *shows) && !self.clips.iter().any(clipped)
    }

    fn cover(&mut self, placed: &Placement) {
        let density = placed.density;
        let dpi = (density.across.max(density.down) * POINTS_PER_INCH).round() as u32;
        let covered = self.densities.entry(dpi).or_insert(Covered { area: 0.0, density });
        covered.area += placed.rect.intersect(self.shown).area().min(placed.area);
    }

    fn density(&self) -> Option<Density> {
        let mut left = SETS_DENSITY * self.shown.area();
        let reached = self.densities.values().rev().find(|covered| {
            left -= covered.area;
            left <= 0.0
        });
        reached.map(|covered| covered.density)
    }
}

impl<'a> Device<'a> for Surveyor {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, _: &DrawMode) {
        let covered = (props.transform * path.clone()).bounding_box().intersect(self.shown);
        // Paper that is painted before the scan hides nothing of it.
        let paper = self.images == 0 && covered.area() >= COVERS * self.shown.area();
        if paper {
            self.coloured_paper |= !is_white(&props.paint);
        } else if covered.area() > 0.0 {
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
        // The library hands an image over with one unit per pixel of it.
        let Some(placed) = placement(&image, props.transform) else { return };
        self.cover(&placed);
        let on_page = placed.rect.intersect(self.shown);
        if !placed.square || on_page.area() < COVERS * self.shown.area() {
            return;
        }
        self.scan = Some(placed.density);
        let pixel = 1.0 / f64::from(placed.density.across.min(placed.density.down));
        let covers_paper = on_page == on_page.union(self.shown.inset(-pixel));
        let room = self.shown.inset((OVERHANG * self.shown.width(), OVERHANG * self.shown.height()));
        let as_it_is = props.soft_mask.is_none()
            && props.blend_mode == BlendMode::Normal
            && self.shows(on_page, pixel)
            && (covers_paper || !self.coloured_paper)
            && placed.rect.intersect(room) == placed.rect;
        if let (Image::Raster(raster), true, true) = (&image, placed.upright, as_it_is) {
            self.copyable = copyable(raster, self.pixels);
        }
    }

    fn push_clip_rect(&mut self, rect: &Rect) {
        self.clips.push(Clip { rect: *rect, whole: true });
    }

    fn push_clip_path(&mut self, clip: &ClipPath) {
        let rect = clip.path.bounding_box();
        // Four sides and all of the area between them.
        let whole = clip.path.elements().len() <= 6 && clip.path.area().abs() >= 0.999_999 * rect.area();
        self.clips.push(Clip { rect, whole });
    }

    fn push_transparency_group(&mut self, opacity: f32, mask: Option<SoftMask<'a>>, blend: BlendMode) {
        self.groups.push(opacity >= 1.0 && mask.is_none() && blend == BlendMode::Normal);
    }

    fn pop_clip(&mut self) {
        self.clips.pop();
    }

    fn pop_transparency_group(&mut self) {
        self.groups.pop();
    }
}

fn is_white(paint: &Paint<'_>) -> bool {
    matches!(paint, Paint::Color(colour) if colour.to_rgba().to_rgba8() == [255; 4])
}

struct Placement {
    /// What is around it.
    rect: Rect,
    /// What it covers, which is less if it lies askew.
    area: f64,
    density: Density,
    /// Its sides run along those of the page.
    square: bool,
    upright: bool,
}

/// Where an image falls on the page; none if it has no extent there.
fn placement(image: &Image<'_, '_>, transform: Affine) -> Option<Placement> {
    let [a, b, c, d, _, _] = transform.as_coeffs();
    let straight = b.abs() + c.abs() < 1e-3 * (a.abs() + d.abs());
    let turned = a.abs() + d.abs() < 1e-3 * (b.abs() + c.abs());
    let unit = Rect::new(0.0, 0.0, f64::from(image.width()), f64::from(image.height()));
    let rect = transform.transform_rect_bbox(unit);
    let (along, beside) = ((1.0 / a.hypot(b)) as f32, (1.0 / c.hypot(d)) as f32);
    if !(rect.area() > 0.0 && along.is_finite() && beside.is_finite()) {
        return None;
    }
    let (across, down) = match (straight, turned) {
        (true, _) => (along, beside),
        (_, true) => (beside, along),
        _ => (along.max(beside), along.max(beside)),
    };
    Some(Placement {
        rect,
        area: unit.area() * transform.determinant().abs(),
        density: Density { across, down },
        square: straight || turned,
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
    let altered = [&b"SMask"[..], b"SMaskInData", b"Mask", b"Decode", b"DecodeParms", b"DP", b"D"];
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
