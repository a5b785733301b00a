//! Chat completions within a budget, and what needs no model.
