//! Conversions as tasks have them: keys for outputs, and what the callback says of them.

use super::Trouble;
use super::assignment::Assignment;
use super::door::Upload;
use crate::asset::{Asset, AssetVariant};
use crate::buckets::Which;
use crate::memory::machine_memory_mb;
use crate::phases::image::{REF, ref_text, usual_ref};
use crate::phases::{pdf as pdf_phase, tiff as tiff_phase};
use crate::report::{Outputs, PageOutput, RefData, Report};
use abide_media::{Bounds, Format, JpegSettings, PageFile, PdfSettings, Target};
use std::path::Path;

/// The sides of variants, by name.
const SIDES: [(&str, u32); 3] = [("thumb", 200), ("medium", 1288), ("large", 2400)];

pub(super) fn sides() -> [u32; 3] {
    SIDES.map(|(_, side)| side)
}

/// What a conversion made.
pub(super) struct Made {
    pub(super) report: Report,
    pub(super) uploads: Vec<Upload>,
    pub(super) pixels: u64,
}

fn settings(assignment: &Assignment) -> JpegSettings {
    JpegSettings { preset: assignment.preset, ..JpegSettings::default() }
}

/// What a conversion may hold: three quarters of what the process gets, which is all that the machine has if nobody says less.
pub(super) fn bounds(memory_mb: Option<u64>) -> Bounds {
    let defaults = Bounds::default();
    let memory = memory_mb.or_else(machine_memory_mb).map(|mb| mb.saturating_mul(1024 * 1024) / 4 * 3);
    Bounds {
        memory_bytes: memory.map_or(defaults.memory_bytes, |bytes| bytes.min(defaults.memory_bytes)),
        ..defaults
    }
}

pub(super) fn target(dir: &Path) -> Target {
    Target { dir: dir.to_owned(), stem: "output".to_owned() }
}

/// A TIFF to a JPEG, or to one for each page.
pub(super) fn tiff(assignment: &Assignment, input: &Path, dir: &Path) -> Result<Made, Trouble> {
    let pages =
        abide_media::tiff_to_jpeg(input, &target(dir), settings(assignment), &bounds(assignment.memory_mb))?;
    let key = assignment.output_r2_key.as_deref().and_then(|key| key.strip_suffix(".jpg"));
    let stem = key.or_else(|| tiff_phase::stem(&assignment.input_r2_key)).unwrap_or(&assignment.input_r2_key);
    Ok(paged(stem, pages))
}

/// A PDF to its pages.
pub(super) fn pdf(assignment: &Assignment, input: &Path, dir: &Path) -> Result<Made, Trouble> {
    let dpi = assignment.pdf_dpi.unwrap_or(PdfSettings::default().dpi);
    let settings = PdfSettings { jpeg: settings(assignment), dpi };
    let pages = abide_media::pdf_to_pages(input, &target(dir), settings, &bounds(assignment.memory_mb))?;
    let key = assignment.output_r2_key.as_deref();
    let stem = key.or_else(|| pdf_phase::stem(&assignment.input_r2_key)).unwrap_or(&assignment.input_r2_key);
    Ok(paged(stem, pages))
}

fn name_of(key: &str) -> String {
    key.rsplit('/').next().unwrap_or(key).to_owned()
}

/// Pages below `stem`: `stem.jpg` where the converter named a single page so, else `stem-p0001.jpg` and on.
fn paged(stem: &str, pages: Vec<PageFile>) -> Made {
    let mut uploads = Vec::new();
    let mut outputs = Vec::new();
    let mut pixels = 0;
    for page in pages {
        // The converter names files `output…`: what is after that names the page.
        let suffix = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("output.jpg");
            name.strip_prefix("output").unwrap_or(name).to_owned()
        };
        let r2_key = format!("{stem}{}", suffix(&page.path));
        pixels += u64::from(page.width) * u64::from(page.height);
        let text = page.text.map(|text| (format!("{stem}{}", suffix(&text.path)), text));
        uploads.push(Upload::made(Which::Staging, r2_key.clone(), page.path, "image/jpeg"));
        outputs.push(PageOutput {
            page: page.page,
            file_name: name_of(&r2_key),
            r2_key,
            file_size: page.bytes,
            text_file_size: text.as_ref().map(|(_, text)| text.bytes),
            text_r2_key: text.as_ref().map(|(key, _)| key.clone()),
        });
        if let Some((key, text)) = text {
            uploads.push(Upload::made(Which::Staging, key, text.path, "text/plain; charset=utf-8"));
        }
    }
    let first = outputs.first().cloned();
    let made = Outputs {
        output_r2_key: first.as_ref().map(|page| page.r2_key.clone()),
        output_file_name: first.as_ref().map(|page| page.file_name.clone()),
        output_file_size: first.as_ref().map(|page| page.file_size),
        ..Outputs::default()
    };
    let report = Report {
        made,
        page_count: u32::try_from(outputs.len()).ok(),
        outputs: Some(outputs),
        ..Report::success()
    };
    Made { report, uploads, pixels }
}

/// An image with its variants, as it will be archived.
pub(super) struct Pictured {
    asset: Asset,
    asset_id: String,
    pub(super) uploads: Vec<Upload>,
    pub(super) pixels: u64,
}

/// An image to variants and an original for the archive.
pub(super) fn image(assignment: &Assignment, input: &Path, dir: &Path) -> Result<Pictured, Trouble> {
    let made = abide_media::variants(
        input,
        &target(dir),
        &sides(),
        settings(assignment),
        &bounds(assignment.memory_mb),
    )?;
    let content_type = content_type(made.format);
    let asset_id = assignment.asset_id();
    let folder = format!("archive/{}/{asset_id}", assignment.batch_id);
    let extension = assignment.input_file_name.rsplit_once('.').map_or("bin", |(_, extension)| extension);
    let original = format!("{folder}/original.{}", extension.to_ascii_lowercase());
    let size = std::fs::metadata(input)?.len();
    let (width, height) = (made.width, made.height);
    let mut asset = Asset::new(&assignment.batch_id, original.clone(), content_type, size, width, height);
    let upload = Upload::made(Which::Archive, original, input.to_owned(), content_type);
    let mut uploads = vec![Upload { is_input: true, ..upload }];
    for variant in made.variants {
        let Some((name, _)) = SIDES.iter().find(|(_, side)| *side == variant.bound) else { continue };
        let key = format!("{folder}/{name}.jpg");
        let of_asset = AssetVariant {
            r2_key: key.clone(),
            width: variant.width,
            height: variant.height,
            size_bytes: variant.bytes,
            content_type: "image/jpeg".to_owned(),
        };
        asset.add((*name).to_owned(), of_asset);
        uploads.push(Upload::made(Which::Archive, key, variant.path, "image/jpeg"));
    }
    Ok(Pictured { asset, asset_id, uploads, pixels: u64::from(width) * u64::from(height) })
}

/// A ref that stands for an image whose bytes are archived: a CDN that is told of it finds them.
pub(super) async fn refer(
    assignment: &Assignment,
    pictured: Pictured,
    dir: &Path,
    client: &reqwest::Client,
) -> Result<Made, Trouble> {
    let Pictured { asset, asset_id, pixels, .. } = pictured;
    let url = match &assignment.cdn_api_url {
        Some(api) => register(client, api, &asset_id, &asset).await?,
        None => assignment.asset_url(&asset_id),
    };
    let data = RefData {
        url,
        ipfs_cid: assignment.input_cid.clone(),
        content_type: Some(asset.content_type.clone()),
        size: Some(asset.size_bytes),
        filename: Some(assignment.input_file_name.clone()),
    };
    let other = assignment.output_r2_key.clone().filter(|key| key.ends_with(REF));
    let ref_key = other.unwrap_or_else(|| usual_ref(&assignment.input_r2_key));
    let mut uploads = Vec::new();
    for (which, key, text, name) in [
        (Which::Archive, Asset::key(&asset_id), asset.text(), "asset.json"),
        (Which::Staging, ref_key.clone(), ref_text(&data), "ref.json"),
    ] {
        let path = dir.join(name);
        std::fs::write(&path, text)?;
        uploads.push(Upload::made(which, key, path, "application/json"));
    }
    let outputs = Outputs {
        ref_json_r2_key: Some(ref_key),
        ref_data: Some(data),
        archive_r2_key: Some(asset.r2_key),
        ..Outputs::default()
    };
    let report = Report { made: outputs, ..Report::success() };
    Ok(Made { report, uploads, pixels })
}

/// What an image is, by its bytes.
fn content_type(format: Format) -> &'static str {
    match format {
        Format::Jpeg => "image/jpeg",
        Format::Png => "image/png",
        Format::Webp => "image/webp",
        Format::Gif => "image/gif",
        Format::Bmp => "image/bmp",
        _ => "application/octet-stream",
    }
}

/// Tells the CDN of an asset, and gives where it serves it.
async fn register(
    client: &reqwest::Client,
    api: &str,
    asset_id: &str,
    asset: &Asset,
) -> Result<String, Trouble> {
    let failed = |error: reqwest::Error| Trouble::Cdn(error.to_string());
    let url = format!("{}/asset/{asset_id}", api.trim_end_matches('/'));
    let response = client.post(&url).json(asset).send().await.map_err(failed)?;
    let status = response.status();
    let answer: serde_json::Value = response.json().await.map_err(failed)?;
    match answer.get("cdnUrl").and_then(|url| url.as_str()) {
        Some(cdn) if status.is_success() => Ok(cdn.to_owned()),
        _ => Err(Trouble::Cdn(format!("{url} answered {status} without cdnUrl"))),
    }
}
