//! HTML for a tokenizer, given in parts, so that one that costs too much is stopped.

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TokenSink, Tokenizer};

/// Bytes that the tokenizer is given at a time.
const PART_BYTES: usize = 4_096;

/// What the last part cost at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Attributes of the tag that it is in, or in it if it is in none.
    pub(crate) attributes: u64,
    /// How often one of them was compared: each is, with those of its tag before it.
    pub(crate) compared: u64,
}

/// Gives all of `text`, or as much of it as `goes_on` lets through. `tokens` says how many tokens have come.
pub(crate) fn feed<S: TokenSink>(
    tokenizer: &Tokenizer<S>,
    text: &str,
    tokens: impl Fn(&S) -> u64,
    goes_on: impl Fn(&S, Cost) -> bool,
) {
    let input = BufferQueue::default();
    let (mut rest, mut unended) = (text, 0_u64);
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        rest = behind;
        let before = tokens(&tokenizer.sink);
        input.push_back(StrTendril::from(part));
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        let separators = part.bytes().filter(|byte| b" \t\r\n\x0c/=\"'".contains(byte)).count() as u64;
        let is_one_tag = tokens(&tokenizer.sink) == before;
        let attributes = if is_one_tag { unended + separators } else { separators };
        let compared = (attributes * attributes - unended.min(attributes).pow(2)) / 2;
        unended = attributes;
        if !goes_on(&tokenizer.sink, Cost { attributes, compared }) {
            return;
        }
    }
}
