//! The tree of a page, built within bounds.
//!
//! A few bytes of HTML can ask for any amount of work: elements in elements, attributes in one tag, markup that is opened
//! again in every paragraph. So work is counted while the tree grows, in steps and not in time, and a page is read up to
//! where it has asked for too much.

use crate::html_feed::{Cost, feed};
use dom_query::{Document, NodeId};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    EOFToken, ParseError, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, QualName};
use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;

/// Elements of a page.
const ELEMENTS: u32 = 60_000;
/// Pieces of text: lines, entities and what is between them. Each is put behind those before it, which are moved.
const PIECES: u32 = 250_000;
/// Elements in elements.
const DEPTH: u32 = 256;
/// Attributes of an element.
const ATTRIBUTES: usize = 100;
/// Steps of the parser: elements that it looks at to find out where one belongs, and attributes to see whether they are new.
const STEPS: u64 = 50_000_000;
/// Elements and text, each as often as it is nested: whoever looks for the article looks at each from all around it.
const WEIGHT: u64 = 3_000_000;
/// Bytes of text that weigh as much as an element.
const TEXT_BYTES: u64 = 128;
/// Elements that go on where the one around them ends. Nothing that is read of them is in their attributes, and without
/// these at most three of a name go on.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// A page whose elements are in each other too deep to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeep;

/// The tree of as much of a page as is within bounds.
pub(super) fn of(text: &str) -> Result<Document, TooDeep> {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let gate = Gate { builder: TreeBuilder::new(Growing::default(), options), tokens: Cell::new(0) };
    let tokenizer = Tokenizer::new(gate, TokenizerOpts::default());
    let goes_on = |gate: &Gate, cost: Cost| {
        gate.builder.sink.step(cost.compared);
        !gate.builder.sink.is_over()
    };
    feed(&tokenizer, text, |gate| gate.tokens.get(), goes_on);
    tokenizer.end();
    let document = tokenizer.sink.builder.sink.finish();
    if depth(&document) > 2 * DEPTH { Err(TooDeep) } else { Ok(document) }
}

/// How deep the tree is in the end: elements that were moved took along what was in them.
fn depth(document: &Document) -> u32 {
    let tree = &document.tree;
    let (mut at, mut depth, mut deepest) = (tree.root().id, 0_u32, 0_u32);
    loop {
        deepest = deepest.max(depth);
        if let Some(child) = tree.first_child_of(&at) {
            (at, depth) = (child.id, depth + 1);
            continue;
        }
        loop {
            if let Some(next) = tree.next_sibling_of(&at) {
                at = next.id;
                break;
            }
            let Some(parent) = tree.parent_of(&at) else { return deepest };
            (at, depth) = (parent.id, depth.saturating_sub(1));
        }
    }
}

/// What the tokenizer gives its tokens to: lets them through while there is room.
struct Gate {
    builder: TreeBuilder<NodeId, Growing>,
    /// Tokens that came.
    tokens: Cell<u64>,
}

impl TokenSink for Gate {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if !matches!(token, ParseError(_)) {
            self.tokens.set(self.tokens.get() + 1);
        }
        if self.builder.sink.is_over() && token != EOFToken {
            return TokenSinkResult::Continue;
        }
        let token = match token {
            TagToken(tag) => TagToken(plain(tag)),
            other => other,
        };
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn plain(mut tag: Tag) -> Tag {
    let most = if FORMATTING.contains(&&*tag.name) { 0 } else { ATTRIBUTES };
    tag.attrs.truncate(most);
    tag
}

/// A tree that grows, and how much work it was.
#[derive(Default)]
struct Growing {
    document: Document,
    depths: RefCell<HashMap<NodeId, u32>>,
    elements: Cell<u32>,
    pieces: Cell<u32>,
    steps: Cell<u64>,
    weight: Cell<u64>,
    is_too_deep: Cell<bool>,
}

impl Growing {
    fn is_over(&self) -> bool {
        self.elements.get() > ELEMENTS
            || self.pieces.get() > PIECES
            || self.steps.get() > STEPS
            || self.weight.get() > WEIGHT
            || self.is_too_deep.get()
    }

    fn step(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
    }

    fn depth(&self, node: &NodeId) -> u32 {
        self.depths.borrow().get(node).copied().unwrap_or(0)
    }

    /// Notes that `child` comes to be at `depth`.
    fn place(&self, child: &NodeOrText<NodeId>, depth: u32) {
        let elements = match child {
            NodeOrText::AppendNode(node) => {
                self.depths.borrow_mut().insert(*node, depth);
                1
            }
            NodeOrText::AppendText(text) => {
                self.pieces.set(self.pieces.get() + 1);
                1 + text.len() as u64 / TEXT_BYTES
            }
        };
        self.weight.set(self.weight.get() + elements * u64::from(depth));
        self.is_too_deep.set(self.is_too_deep.get() || depth > DEPTH);
    }
}

impl TreeSink for Growing {
    type Handle = NodeId;
    type Output = Document;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Document {
        self.document
    }

    /// Pages are full of them, and nobody reads them.
    fn parse_error(&self, _what: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, node: &'a NodeId) -> Ref<'a, QualName> {
        self.step(1);
        self.document.elem_name(node)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        self.step(1);
        self.document.same_node(one, other)
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.elements.set(self.elements.get() + 1);
        self.document.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.elements.set(self.elements.get() + 1);
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.elements.set(self.elements.get() + 1);
        self.document.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, self.depth(parent) + 1);
        self.document.append(parent, child);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, self.depth(sibling));
        self.document.append_before_sibling(sibling, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, before: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, self.depth(element).max(self.depth(before) + 1));
        self.document.append_based_on_parent_node(element, before, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.document.append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, template: &NodeId) -> NodeId {
        let contents = self.document.get_template_contents(template);
        let depth = self.depth(template) + 1;
        self.depths.borrow_mut().insert(contents, depth);
        contents
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn add_attrs_if_missing(&self, node: &NodeId, attributes: Vec<Attribute>) {
        self.step(attributes.len() as u64 * ATTRIBUTES as u64);
        self.document.add_attrs_if_missing(node, attributes);
    }

    fn remove_from_parent(&self, node: &NodeId) {
        self.document.remove_from_parent(node);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let mut child = self.document.tree.first_child_of(node).map(|child| child.id);
        while let Some(moved) = child {
            self.step(1);
            child = self.document.tree.next_sibling_of(&moved).map(|next| next.id);
        }
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, node: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(node)
    }
}
