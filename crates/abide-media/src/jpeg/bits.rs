//! Bits out into a scan, where a byte of ones is followed by a zero.

/// Writes bits behind the bytes of a file.
pub(super) struct Writer {
    out: Vec<u8>,
    /// Bits that are not written yet are its lowest, fewer than 32.
    held: u64,
    filled: u32,
}

impl Writer {
    pub(super) fn new(out: Vec<u8>) -> Writer {
        Writer { out, held: 0, filled: 0 }
    }

    /// Appends `count` bits, at most 32; above them are none.
    #[inline]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.held = self.held << count | u64::from(bits);
        self.filled += count;
        if self.filled >= 32 {
            self.filled -= 32;
            self.word((self.held >> self.filled) as u32);
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u32) {
        // Adding one to a byte of ones, and to no other, clears its highest bit.
        let ones = word & 0x8080_8080 & !word.wrapping_add(0x0101_0101);
        if ones == 0 {
            self.out.extend_from_slice(&word.to_be_bytes());
        } else {
            self.stuffed(word);
        }
    }

    #[cold]
    fn stuffed(&mut self, word: u32) {
        word.to_be_bytes().into_iter().for_each(|byte| self.byte(byte));
    }

    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
        if byte == 0xff {
            self.out.push(0);
        }
    }

    /// Fills the last byte with ones, and gives the file back.
    pub(super) fn end(mut self) -> Vec<u8> {
        let padding = self.filled.next_multiple_of(8) - self.filled;
        self.put((1 << padding) - 1, padding);
        for at in (0..self.filled).step_by(8).rev() {
            self.byte((self.held >> at) as u8);
        }
        self.out
    }
}
