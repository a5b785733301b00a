//! Trees for people.

use abide_collections::{ShownFile, TreeDocument};

/// Files of a branch that are listed one by one.
const FILES: usize = 12;
/// Characters of what is said about a branch.
const ABOUT: usize = 96;

/// So many of something, as people say it.
pub(crate) fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// A tree of groups with what is said about them, and their files.
pub(crate) fn tree(tree: &TreeDocument) -> String {
    let mut text = format!("{}{}\n", tree.label, about(tree));
    branches(tree, "", &mut text);
    text
}

fn branches(tree: &TreeDocument, before: &str, text: &mut String) {
    let files = tree.files.iter().take(FILES).map(|file| file.name.clone());
    let more = tree.files.len().saturating_sub(FILES);
    let more = (more > 0).then(|| format!("and {}", count(more, "more file", "more files")));
    let leaves: Vec<String> = files.chain(more).collect();
    let count = tree.children.len() + leaves.len();
    for (at, child) in tree.children.iter().enumerate() {
        let is_last = at + 1 == count;
        text.push_str(&format!("{before}{}{}/{}\n", branch(is_last), child.label, about(child)));
        branches(child, &format!("{before}{}", if is_last { "   " } else { "│  " }), text);
    }
    for (at, leaf) in leaves.iter().enumerate() {
        let is_last = tree.children.len() + at + 1 == count;
        text.push_str(&format!("{before}{}{leaf}\n", branch(is_last)));
    }
}

fn branch(is_last: bool) -> &'static str {
    if is_last { "└─ " } else { "├─ " }
}

/// The first line of a description that is no title.
fn about(tree: &TreeDocument) -> String {
    let said = tree.description.as_deref().unwrap_or_default();
    let line = said.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    match line {
        None => String::new(),
        Some(line) if line.chars().count() <= ABOUT => format!("  {line}"),
        Some(line) => format!("  {}…", line.chars().take(ABOUT).collect::<String>()),
    }
}

/// A file: what and where it is, when it changed, and its text.
pub(crate) fn file(file: &ShownFile) -> String {
    let place = if file.path.is_empty() { &file.part.label } else { &file.path };
    let mut text = format!(
        "file     {}\ncontent  {}\nin       {place} ({})\nversion  {}\n\nversions\n",
        file.name, file.cid, file.part.id, file.ver
    );
    for version in &file.versions {
        let what = version.cid.map_or_else(|| "(not there)".to_owned(), |cid| cid.to_string());
        text.push_str(&format!("  {:>4}  {}  {what}\n", version.ver, version.ts));
    }
    let said = file.text.as_deref().unwrap_or("(no text)");
    text.push_str(&format!("\n{}\n", said.trim_end()));
    text
}

#[cfg(test)]
mod tests {
    use abide_collections::TreeDocument;
    use serde_json::json;

    #[test]
    fn a_tree_has_groups_before_files() {
        let file = |name: &str| json!({ "name": name, "component": name, "cid": "x" });
        let id = "01J8ME3H6FZ3KQ5W1P2XY8K7E5";
        let document = json!({
            "id": id, "label": "papers", "ver": 1, "description": "# Papers\n\n## Overview\n\n1 part and 2 files.\n",
            "files": [file("a.txt"), file("b.txt")],
            "children": [{ "id": id, "label": "letters", "ver": 1, "files": [file("c.txt")], "children": [] }],
        });
        let tree: TreeDocument = serde_json::from_value(document).unwrap();
        let expected = "papers  1 part and 2 files.\n├─ letters/\n│  └─ c.txt\n├─ a.txt\n└─ b.txt\n";
        assert_eq!(super::tree(&tree), expected);
    }
}
