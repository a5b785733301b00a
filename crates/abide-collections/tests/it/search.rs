//! Searching: everything that has the words, each thing once.

use crate::rig::{PAPERS, known, rig};
use abide_collections::snapshot::directory_id;
use abide_collections::{Call, Collection};
use abide_entities::EntityStore;
use abide_entities::request::Create;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_found_once_and_so_is_everything_else() {
    let rig = rig();
    let shelf = rig.shelf();
    let ocr = |text: &str| format!("{{\"url\": \"http://127.0.0.1:1/a\", \"ocr\": \"{text}\"}}");
    let files = [
        ("list.pdf", "%PDF".to_owned()),
        ("list-p0001.jpg.ref.json", ocr("a mounted heron")),
        ("list-p0001.txt", "A mounted heron, and a fox.".to_owned()),
        ("list-p0002.jpg.ref.json", ocr("a heron in flight")),
        ("list-p0002.txt", String::new()),
        ("heron.jpg.ref.json", ocr("nothing")),
        ("heron.txt", "The heron at the pond.".to_owned()),
        ("scan.tif", "II".to_owned()),
        ("scan.jpg.ref.json", ocr("nothing")),
        ("description.md", "# Birds\n\nThe heron and others.".to_owned()),
    ];
    let mut components = std::collections::BTreeMap::new();
    for (name, text) in &files {
        components.insert((*name).to_owned(), rig.upload(text).await);
    }
    let root = directory_id(PAPERS, "");
    let label = Some("heron".to_owned());
    rig.store
        .create(Create { id: Some(root.clone()), label, components, ..Create::default() })
        .await
        .unwrap();
    shelf.ask(&Call::Save(Box::new(Collection::new(PAPERS, root, "/scans".to_owned())))).await.unwrap();
    let pages = [
        "list.pdf",
        "list-p0001.jpg.ref.json",
        "list-p0001.txt",
        "list-p0002.jpg.ref.json",
        "list-p0002.txt",
    ];
    let put = [
        ("list.pdf", known(&pages)),
        ("scan.tif", known(&["scan.tif", "scan.jpg.ref.json"])),
        ("heron.jpg", known(&["heron.jpg.ref.json"])),
        ("heron.txt", known(&["heron.txt"])),
    ];
    let put = put.into_iter().map(|(path, file)| (path.to_owned(), file)).collect();
    shelf.ask(&Call::SaveFiles { name: PAPERS.to_owned(), put, gone: [].into() }).await.unwrap();

    for (query, expected) in [
        (
            "heron",
            "(part) description, heron.jpg name, heron.txt text, list-p0001.txt text, list-p0002.jpg text",
        ),
        ("list", "list.pdf name, list-p0001.txt name, list-p0002.txt name"),
        ("scan", "scan.jpg name"),
        ("fox", "list-p0001.txt text"),
        ("badger", ""),
    ] {
        let found = shelf.search(PAPERS, query).await.unwrap();
        let hits = found.hits.iter().map(|hit| {
            let field = serde_json::to_value(hit.field).unwrap();
            format!("{} {}", hit.file.as_deref().unwrap_or("(part)"), field.as_str().unwrap())
        });
        assert_eq!(hits.collect::<Vec<_>>().join(", "), expected, "{query}");
    }
}
