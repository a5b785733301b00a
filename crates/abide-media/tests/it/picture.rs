//! A picture to convert, and how to look at the result.

use std::path::Path;

use abide_media::Target;
use image::{GrayImage, RgbImage};

/// Soft gradients with an edge and a corner that tells up from down.
pub(crate) fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        if x < width / 4 && y < height / 4 {
            return image::Rgb([220, 40, 40]);
        }
        let (u, v) = (x * 255 / width, y * 255 / height);
        image::Rgb([u as u8, v as u8, (128 + u / 4) as u8])
    })
}

pub(crate) fn gray(picture: &RgbImage) -> GrayImage {
    GrayImage::from_fn(picture.width(), picture.height(), |x, y| image::Luma([picture.get_pixel(x, y)[0]]))
}

/// Black bars and a black corner on white.
pub(crate) fn bars(width: u32, height: u32) -> GrayImage {
    GrayImage::from_fn(width, height, |x, y| {
        let black = (x < width / 2 && y < height / 3) || (x / 16 % 3 == 0 && y > height / 2);
        image::Luma([if black { 0 } else { 255 }])
    })
}

pub(crate) fn target(dir: &Path) -> Target {
    Target { dir: dir.to_owned(), stem: "out".to_owned() }
}

/// Decodes a result as RGB.
pub(crate) fn rgb(path: &Path) -> RgbImage {
    image::open(path).unwrap().into_rgb8()
}

/// How like the expected picture the file is, in decibels.
pub(crate) fn likeness(path: &Path, expected: &RgbImage) -> f64 {
    let found = rgb(path);
    assert_eq!(found.dimensions(), expected.dimensions());
    abide_media::psnr(found.as_raw(), expected.as_raw())
}

/// Bits as they are written down, filled up to whole bytes.
pub(crate) fn bits(written: &str) -> Vec<u8> {
    let bits: Vec<u8> =
        written.bytes().filter(|byte| matches!(byte, b'0' | b'1')).map(|byte| byte - b'0').collect();
    bits.chunks(8).map(|eight| eight.iter().enumerate().map(|(at, bit)| bit << (7 - at)).sum()).collect()
}
