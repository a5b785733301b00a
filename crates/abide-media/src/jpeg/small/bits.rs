//! Bits out into a scan, where a byte of ones is followed by a zero.

/// Writes bits.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    filled: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { out, held: 0, filled: 0 }
    }

    /// Appends the lowest `count` bits, at most 32.
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.held = self.held << count | u64::from(bits) & ((1 << count) - 1);
        self.filled += count;
        while self.filled >= 8 {
            self.filled -= 8;
            let byte = (self.held >> self.filled) as u8;
            self.out.push(byte);
            if byte == 0xff {
                self.out.push(0);
            }
        }
    }

    /// Fills the last byte with ones.
    pub(super) fn end(mut self) {
        if self.filled > 0 {
            let count = 8 - self.filled;
            self.put((1 << count) - 1, count);
        }
    }
}
