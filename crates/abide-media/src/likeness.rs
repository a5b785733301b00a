//! How much alike two pictures are: for benches and tests.

use crate::error::MediaError;
use crate::jpeg;

/// How bright the pixels of a JPEG are, with its width: what [`ssim`] compares.
pub fn luma(jpeg: &[u8]) -> Result<(u32, Vec<u8>), MediaError> {
    jpeg::decode_luma(jpeg)
}

/// Peak signal to noise in decibels; infinite for equal samples. The slices are as long as each other.
pub fn psnr(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len(), "pictures of one size");
    let squares: u64 = one.iter().zip(other).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * one.len() as f64 / squares as f64).log10()
}

/// Mean structural similarity of two gray pictures over windows of 8 × 8 pixels, 4 apart: 1 for equal ones.
pub fn ssim(one: &[u8], other: &[u8], width: usize) -> f64 {
    assert_eq!(one.len(), other.len(), "pictures of one size");
    let height = one.len() / width;
    let (mut sum, mut windows) = (0.0, 0u32);
    for y in (0..height.saturating_sub(7)).step_by(4) {
        for x in (0..width.saturating_sub(7)).step_by(4) {
            sum += window(one, other, width, x, y);
            windows += 1;
        }
    }
    if windows == 0 { if one == other { 1.0 } else { 0.0 } } else { sum / f64::from(windows) }
}

fn window(one: &[u8], other: &[u8], width: usize, x: usize, y: usize) -> f64 {
    const STEADY_MEAN: f64 = (0.01 * 255.0) * (0.01 * 255.0);
    const STEADY_VARIANCE: f64 = (0.03 * 255.0) * (0.03 * 255.0);
    let (mut a, mut b, mut aa, mut bb, mut ab) = (0u32, 0u32, 0u32, 0u32, 0u32);
    for row in y..y + 8 {
        let start = row * width + x;
        for (&p, &q) in one[start..start + 8].iter().zip(&other[start..start + 8]) {
            let (p, q) = (u32::from(p), u32::from(q));
            a += p;
            b += q;
            aa += p * p;
            bb += q * q;
            ab += p * q;
        }
    }
    let mean = |sum: u32| f64::from(sum) / 64.0;
    let (ma, mb) = (mean(a), mean(b));
    let (va, vb, covariance) = (mean(aa) - ma * ma, mean(bb) - mb * mb, mean(ab) - ma * mb);
    ((2.0 * ma * mb + STEADY_MEAN) * (2.0 * covariance + STEADY_VARIANCE))
        / ((ma * ma + mb * mb + STEADY_MEAN) * (va + vb + STEADY_VARIANCE))
}
