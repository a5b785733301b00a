//! What one file may take.

/// The most that one conversion may read, hold and write. A file past a bound is refused with
/// [`MediaError::TooLarge`](crate::MediaError::TooLarge), which names the bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the input file.
    pub file_bytes: u64,
    /// Pixels of one page or image.
    pub pixels: u64,
    /// Pages of one file.
    pub pages: u32,
    /// Bytes that a conversion is computed to hold at once.
    pub memory_bytes: u64,
    /// Bytes of the text of one page.
    pub text_bytes: usize,
    /// Operators of one page of a document, those of a form each time that it is drawn.
    pub operators: u64,
}

/// The longest side that a JPEG can have.
pub(crate) const JPEG_SIDE: u32 = 65_500;

impl Default for Bounds {
    /// Room for a page of A0 at 600 dpi, in what a worker of 4 GiB can hold. As many operators as the largest maps and plans have
    /// several times over, and as take a minute or two to draw.
    fn default() -> Bounds {
        Bounds {
            file_bytes: 4 << 30,
            pixels: 600_000_000,
            pages: 10_000,
            memory_bytes: 3 << 30,
            text_bytes: 4 << 20,
            operators: 20_000_000,
        }
    }
}
