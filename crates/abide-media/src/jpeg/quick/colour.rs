//! Pixels to samples of brightness and, for four pixels together, of colour.

/// Brightness and two colours in one number: a sample is in 256ths at its place, so that what is above and below it falls
/// off. Colour takes two bits more, for a sum of four.
const BRIGHTNESS_AT: u32 = 48;
const BLUE_AT: u32 = 28;
const RED_AT: u32 = 6;

/// Parts of 4096 of brightness, of blue and of red.
const fn weights(brightness: i64, blue: i64, red: i64) -> u64 {
    ((brightness << 44) + (blue << 22) + red) as u64
}
const R: u64 = weights(1_225, -691, 2_048);
const G: u64 = weights(2_404, -1_357, -1_715);
const B: u64 = weights(467, 2_048, -333);
/// No colour is in the middle, so that none is negative.
const NONE: u64 = weights(0, 128 << 12, 128 << 12);

#[inline]
fn weigh(pixel: &[u8]) -> u64 {
    let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(u64::from);
    let [r, g, b] = [R.wrapping_mul(r), G.wrapping_mul(g), B.wrapping_mul(b)];
    NONE.wrapping_add(r).wrapping_add(g).wrapping_add(b)
}

/// Two rows of samples of brightness, and one of each colour, in 256ths.
pub(super) struct Rows<'a> {
    pub(super) upper: &'a mut [u16],
    pub(super) lower: &'a mut [u16],
    pub(super) blue: &'a mut [u16],
    pub(super) red: &'a mut [u16],
}

impl Rows<'_> {
    /// Fills them from two rows of pixels. Beyond the edge are pixels like the last.
    pub(super) fn fill(self, upper: &[u8], lower: &[u8]) {
        let width = upper.len() / 3;
        let pairs = upper.chunks_exact(6).zip(lower.chunks_exact(6));
        let bright = self.upper.chunks_exact_mut(2).zip(self.lower.chunks_exact_mut(2));
        let colour = self.blue.iter_mut().zip(self.red.iter_mut());
        for (((upper, lower), (bright, below)), (blue, red)) in pairs.zip(bright).zip(colour) {
            let (a, b) = (weigh(&upper[..3]), weigh(&upper[3..]));
            let (c, d) = (weigh(&lower[..3]), weigh(&lower[3..]));
            bright[0] = (a >> BRIGHTNESS_AT) as u16;
            bright[1] = (b >> BRIGHTNESS_AT) as u16;
            below[0] = (c >> BRIGHTNESS_AT) as u16;
            below[1] = (d >> BRIGHTNESS_AT) as u16;
            let sum = a.wrapping_add(b).wrapping_add(c).wrapping_add(d);
            *blue = (sum >> BLUE_AT) as u16;
            *red = (sum >> RED_AT) as u16;
        }
        if width % 2 == 1 {
            let (a, c) = (weigh(&upper[upper.len() - 3..]), weigh(&lower[lower.len() - 3..]));
            self.upper[width - 1] = (a >> BRIGHTNESS_AT) as u16;
            self.lower[width - 1] = (c >> BRIGHTNESS_AT) as u16;
            let sum = a.wrapping_add(c).wrapping_mul(2);
            self.blue[width / 2] = (sum >> BLUE_AT) as u16;
            self.red[width / 2] = (sum >> RED_AT) as u16;
        }
        repeat_last(self.upper, width);
        repeat_last(self.lower, width);
        repeat_last(self.blue, width.div_ceil(2));
        repeat_last(self.red, width.div_ceil(2));
    }
}

/// Fills what is behind `width` samples with the last of them.
pub(super) fn repeat_last(samples: &mut [u16], width: usize) {
    let last = samples[width - 1];
    samples[width..].fill(last);
}
