//! Manifests: what is read of a bucket.

use crate::world::message;
use abide_preprocess::Report;
use abide_preprocess::manifest::{read, tree};
use abide_preprocess::phases::{Phase, tiff::TiffConversion};
use abide_preprocess::report::Outputs;
use serde_json::{Value, json};

fn manifest(names: &[&str]) -> Value {
    let file = |name: &&str| {
        json!({"r2_key": format!("staging/b1/{name}"), "logical_path": format!("/{name}"), "file_name": name,
               "file_size": 1, "content_type": "image/tiff"})
    };
    let files: Vec<Value> = names.iter().map(file).collect();
    json!({"batch_id": "b1", "total_files": names.len(), "directories": [
        {"directory_path": "/", "processing_config": {"ocr": true, "cheimarros": false}, "files": files}]})
}

#[test]
fn outputs_never_take_the_key_of_another_file() {
    let names = ["a.tif", "a.jpg", "a.TIFF", "b.tif", "b.tiff", "Größe.tif"];
    let files = read(manifest(&names).to_string().as_bytes(), &message()).unwrap();
    let outputs: Vec<_> = files.iter().map(|file| file.output_r2_key.as_deref()).collect();
    assert_eq!(
        outputs,
        [
            Some("staging/b1/a.tif.jpg"),
            None,
            Some("staging/b1/a.TIFF.jpg"),
            Some("staging/b1/b.jpg"),
            Some("staging/b1/b.tiff.jpg"),
            Some("staging/b1/Größe.jpg"),
        ]
    );
    assert_eq!(files[0].processing_config, json!({"ocr": true, "cheimarros": false}), "unknown keys survive");
}

/// The longest names that there may be have results whose names are not too long, and each its own.
#[test]
fn outputs_of_long_names_have_names_that_can_be() {
    let long = "字".repeat(78);
    let n = "n".repeat(233);
    let names = [
        format!("{long}.tif"),
        format!("{long}.pdf"),
        format!("{long}.jpg"),
        format!("{n}a.tiff"),
        format!("{n}b.tiff"),
    ];
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = manifest(&named).to_string();
    let first = read(text.as_bytes(), &message()).unwrap();
    let outputs: Vec<_> = first.iter().map(|file| file.output_r2_key.clone().unwrap()).collect();
    for (name, output) in names.iter().zip(&outputs) {
        let stem = output.strip_suffix(".jpg").unwrap_or(output);
        let longest = if output.ends_with(".ref.json") {
            output.clone()
        } else {
            format!("{stem}-p10000.jpg.ref.json")
        };
        abide_blob::Key::new(&longest).unwrap();
        let begins: String = format!("staging/b1/{name}").chars().take(60).collect();
        assert!(output.starts_with(&begins), "{output}");
    }
    let different: std::collections::BTreeSet<_> = outputs.iter().collect();
    assert_eq!(different.len(), outputs.len(), "{outputs:?}");
    assert!(outputs[0].ends_with(".jpg") && outputs[2].ends_with(".ref.json"), "{outputs:?}");
    // As in any other batch.
    let alone = read(manifest(&named[..1]).to_string().as_bytes(), &message()).unwrap();
    assert_eq!(alone[0].output_r2_key.as_ref(), Some(&outputs[0]));
}

/// Phases go by names and types of files, and keys may be anything.
#[test]
fn outputs_of_files_whose_keys_end_otherwise_have_keys_of_their_own() {
    let file = |key: &str, name: &str, content_type: &str| {
        json!({"r2_key": format!("staging/b1/{key}"), "logical_path": format!("/box/{name}"), "file_name": name,
               "file_size": 1, "content_type": content_type})
    };
    let files = [
        file("1", "a.tif", "image/tiff"),
        file("1.jpg", "b.jpg", "image/jpeg"),
        file("2", "c", "application/pdf"),
        file("2-p0001.jpg", "d.jpg", "image/jpeg"),
        file("3", "e.tiff", "image/tiff"),
        file("4.tif", "f", "application/pdf"),
    ];
    let manifest = json!({"batch_id": "b1", "directories": [{"directory_path": "/box", "files": files}]});
    let files = read(manifest.to_string().as_bytes(), &message()).unwrap();
    let outputs: Vec<_> = files.iter().map(|file| file.output_r2_key.as_deref()).collect();
    assert_eq!(
        outputs,
        [
            Some("staging/b1/1.3.jpg"),
            None,
            Some("staging/b1/2.3"),
            None,
            Some("staging/b1/3.jpg"),
            Some("staging/b1/4.tif"),
        ]
    );
    let made = Outputs { output_r2_key: Some("staging/b1/3.jpg".to_owned()), ..made_of("3.jpg") };
    let made = TiffConversion.transform(&files[4], &Report { made, ..Report::success() });
    assert_eq!(made[1].logical_path, "/box/e.jpg", "for people it is where it was");
    let own = Outputs { output_r2_key: Some(files[4].r2_key.clone()), ..made_of(&made[1].file_name) };
    let refused = TiffConversion.accepts(&files[4], &Report { made: own, ..Report::success() });
    assert!(refused.is_err(), "nor do they take that of their own file");
}

fn made_of(name: &str) -> Outputs {
    Outputs { output_file_name: Some(name.to_owned()), output_file_size: Some(1), ..Outputs::default() }
}

#[test]
fn a_file_may_ask_for_something_else_than_its_directory() {
    let mut manifest = manifest(&["a.tif", "b.tif"]);
    manifest["directories"][0]["files"][1]["processing_config"] = json!({"ocr": false});
    let files = read(manifest.to_string().as_bytes(), &message()).unwrap();
    let asked: Vec<&Value> = files.iter().map(|file| &file.processing_config["ocr"]).collect();
    assert_eq!(asked, [true, false]);
}

#[test]
fn refs_never_take_the_key_of_another_file() {
    let names = [
        "a.jpg",
        "a.jpg.ref.json",
        "a.jpg.2.ref.json",
        "b.tif",
        "b.jpg.ref.json",
        "c.png",
        "d.pdf",
        "d-p0001.jpg.ref.json",
    ];
    let files = read(manifest(&names).to_string().as_bytes(), &message()).unwrap();
    let outputs: Vec<_> = files.iter().map(|file| file.output_r2_key.as_deref()).collect();
    assert_eq!(
        outputs,
        [
            Some("staging/b1/a.jpg.3.ref.json"),
            None,
            None,
            Some("staging/b1/b.tif.jpg"),
            None,
            None,
            Some("staging/b1/d.pdf"),
            None,
        ]
    );
}

#[test]
fn what_cannot_be_used_says_why() {
    let mut other = manifest(&["a.tif"]);
    other["batch_id"] = json!("b2");
    let mut outside = manifest(&["a.tif"]);
    outside["directories"][0]["files"][0]["r2_key"] = json!("staging/b10/a.tif");
    let with = |field: &str, value: &str| {
        let mut manifest = manifest(&["a.tif"]);
        manifest["directories"][0]["files"][0][field] = json!(value);
        manifest
    };
    let cases = [
        (with("file_name", ""), "\"staging/b1/a.tif\" has the file_name \"\""),
        (with("file_name", ".."), "has the file_name \"..\""),
        (with("file_name", "../../x.tif"), "which is not the name of a file"),
        (with("logical_path", "/../../x.tif"), "has the logical_path \"/../../x.tif\""),
        (with("logical_path", ""), "which is not a path below the root of the batch"),
        (
            with("content_type", "application/pdf\0"),
            "has the content_type \"application/pdf\\0\", with a control",
        ),
        (with("cid", "a\0b"), "\"staging/b1/a.tif\" has the cid"),
        (json!({"batch_id": "b1"}), "missing field `directories`"),
        (other, "it is that of batch b2"),
        (outside, "is outside of staging/b1/"),
        (manifest(&["a.tif", "a.tif"]), "is listed twice"),
        (manifest(&["../a.tif"]), "has a wrong key"),
        (manifest(&[&"long".repeat(300)]), "has a wrong key"),
    ];
    for (manifest, reason) in cases {
        let error = read(manifest.to_string().as_bytes(), &message()).unwrap_err().to_string();
        assert!(error.starts_with("the manifest cannot be read: ") && error.contains(reason), "{error}");
    }
}

#[test]
fn entities_of_directories_may_be_in_it() {
    let mut manifest = manifest(&["a.tif"]);
    assert_eq!(json!(tree(manifest.to_string().as_bytes()).unwrap()), json!({}));
    let entities = json!({"root_pi": "01ROOT", "node_pis": {"/": "01ROOT"}, "node_tips": {"/": "bafy"},
        "node_versions": {"/": 3}});
    for (field, value) in entities.as_object().unwrap() {
        manifest[field] = value.clone();
    }
    assert_eq!(json!(tree(manifest.to_string().as_bytes()).unwrap()), entities);
    assert_eq!(read(manifest.to_string().as_bytes(), &message()).unwrap().len(), 1);
}
