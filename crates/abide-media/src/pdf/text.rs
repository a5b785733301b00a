//! Glyphs of a page to lines of text.

use hayro::hayro_interpret::font::{Glyph, GlyphRun};
use hayro::kurbo::{Affine, Point};

use crate::error::{MediaError, within};

/// Text as it is laid on the page, in the order in which the page lays it.
pub(super) struct Lines {
    text: String,
    most: usize,
    last: Option<Last>,
}

/// The last glyph: where it ended, how tall it is, which way its line runs.
struct Last {
    end: Point,
    size: f64,
    along: (f64, f64),
}

/// Glyphs are drawn in thousandths of their size.
const UNITS: f64 = 1000.0;
/// A gap of this part of the size is a space.
const SPACE: f64 = 0.2;
/// A shift of this part of the size across the line is another line.
const LINE: f64 = 0.5;

impl Lines {
    pub(super) fn new(most: usize) -> Lines {
        Lines { text: String::new(), most, last: None }
    }

    pub(super) fn add(&mut self, run: &GlyphRun<'_, '_>, transform: Affine) {
        for glyph in run.glyphs() {
            // One byte past the bound is enough to know.
            if self.text.len() > self.most {
                return;
            }
            let placed = transform * glyph.transform();
            let [a, b, c, d, x, y] = placed.as_coeffs();
            let size = c.hypot(d) * UNITS;
            let along = a.hypot(b);
            if !(size.is_finite() && size > 0.0 && along > 0.0) {
                continue;
            }
            let advance = match &**glyph {
                Glyph::Outline(outline) => outline.advance_width(),
                Glyph::Type3(shape) => shape.advance_width(),
            };
            let start = Point::new(x, y);
            let end = placed * Point::new(f64::from(advance.unwrap_or(500.0)), 0.0);
            self.separate(start, size);
            self.push(glyph);
            self.last = Some(Last { end, size, along: (a / along, b / along) });
        }
    }

    /// Begins a line or a word where the glyph stands apart from the last.
    fn separate(&mut self, start: Point, size: f64) {
        let Some(last) = &self.last else { return };
        let (dx, dy) = (start.x - last.end.x, start.y - last.end.y);
        let (cos, sin) = last.along;
        let along = dx * cos + dy * sin;
        let across = dy * cos - dx * sin;
        let size = size.max(last.size);
        // Back by more than the width of a few letters is the start of a line, even at the same height.
        if across.abs() > LINE * size || along < -2.0 * size {
            self.break_with('\n');
        } else if along > SPACE * size {
            self.break_with(' ');
        }
    }

    fn break_with(&mut self, separator: char) {
        if self.text.ends_with(' ') && separator == '\n' {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
            self.text.push(separator);
        }
    }

    fn push(&mut self, glyph: &Glyph<'_>) {
        use hayro::hayro_interpret::hayro_cmap::BfString;
        let mut put = |character: char| match character {
            '\u{a0}' | ' ' | '\t' => self.break_with(' '),
            control if control.is_control() => {}
            other => self.text.push(other),
        };
        match glyph.as_unicode() {
            Some(BfString::Char(character)) => put(character),
            Some(BfString::String(string)) => string.chars().for_each(put),
            None => {}
        }
    }

    pub(super) fn finish(mut self) -> Result<String, MediaError> {
        within("the text of a page in bytes", self.text.len() as u64, self.most as u64)?;
        while self.text.ends_with(['\n', ' ']) {
            self.text.pop();
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        Ok(self.text)
    }
}
