//! The segments of a JPEG before its first scan.

/// One segment: its marker, where the marker is, and its content without the length.
pub(super) struct Segment<'a> {
    pub(super) marker: u8,
    pub(super) at: usize,
    pub(super) content: &'a [u8],
}

impl Segment<'_> {
    /// Where the next one begins, or the data of a scan.
    pub(super) fn end(&self) -> usize {
        self.at + 4 + self.content.len()
    }
}

/// The markers of a frame whose coefficients come in one order.
pub(super) const FRAMES: [u8; 2] = [0xc0, 0xc1];
/// The marker of codes.
pub(super) const CODES: u8 = 0xc4;
/// The marker of a scan.
pub(super) const SCAN: u8 = 0xda;

/// Segment after segment, the first scan's the last; fewer where the file breaks off.
pub(super) fn segments(jpeg: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    let mut next = Some(2);
    std::iter::from_fn(move || {
        let at = next?;
        let [0xff, marker, high, low] = *jpeg.get(at..at + 4)? else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let content = jpeg.get(at + 4..at + 2 + length)?;
        let segment = Segment { marker, at, content };
        next = (marker != SCAN).then_some(segment.end());
        Some(segment)
    })
}
