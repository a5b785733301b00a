//! The worked example of docs/adding-a-phase.md.

use crate::world::{B, callback, file, message, options, orders, output, status};
use abide_engine::testing::World;
use abide_engine::worker::done;
use abide_preprocess::calls::HaveAnswer;
use abide_preprocess::file::ProcessableFile;
use abide_preprocess::phases::{
    Phase, Phases, image::ImageProcessing, pdf::PdfSplitting, tiff::TiffConversion,
};
use abide_preprocess::report::Outputs;
use abide_preprocess::{Batch, Call, PhaseSettings, Report, jobs};

struct AudioTranscription;

impl Phase for AudioTranscription {
    fn name(&self) -> &'static str {
        "AUDIO_TRANSCRIPTION"
    }

    fn tag(&self) -> &'static str {
        "audio"
    }

    fn takes(&self, file: &ProcessableFile) -> bool {
        file.content_type.starts_with("audio/")
    }

    fn settings(&self) -> PhaseSettings {
        PhaseSettings { task_timeout_ms: 3_600_000, ..PhaseSettings::DEFAULT }
    }

    fn accepts(&self, _: &ProcessableFile, report: &Report) -> Result<(), String> {
        match report.made.output_r2_key {
            Some(_) => Ok(()),
            None => Err("the worker reported success without output_r2_key".to_owned()),
        }
    }

    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile> {
        let transcript = ProcessableFile {
            r2_key: report.made.output_r2_key.clone().unwrap_or_default(),
            logical_path: format!("{}.txt", file.logical_path),
            file_name: format!("{}.txt", file.file_name),
            file_size: report.made.output_file_size.unwrap_or(0),
            content_type: "text/plain".to_owned(),
            source_file: Some(file.file_name.clone()),
            ..ProcessableFile::default()
        };
        vec![file.clone(), transcript.tagged("AudioTranscriber")]
    }
}

static PHASES: Phases = &[&TiffConversion, &PdfSplitting, &AudioTranscription, &ImageProcessing];

#[test]
fn a_phase_is_one_file_and_one_line() {
    let mut world = World::new();
    world.object(Batch::with_phases(options(), PHASES));
    world.worker(jobs::QUEUE, jobs::MANIFEST, |_| done(&()));
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    let life = crate::world::life(&mut world);
    let files = vec![file("talk.mp3", "audio/mpeg"), file("b.jpg", "image/jpeg")];
    let _: HaveAnswer = world.call(B, &Call::Files { life, from: 0, files, last: true }).unwrap();
    assert_eq!(status(&mut world).status, "AUDIO_TRANSCRIPTION");
    let order = orders(&mut world, "audio").remove(0);
    let made = Outputs {
        output_r2_key: Some("staging/b1/talk.mp3.txt".to_owned()),
        output_file_size: Some(12),
        ..Outputs::default()
    };
    let report = Report { made, ..Report::success() };
    callback(&mut world, &order.attempt, report).unwrap();
    assert_eq!(status(&mut world).status, "IMAGE_PROCESSING");
    let names: Vec<_> = output(&mut world).into_iter().map(|file| file.file_name).collect();
    assert_eq!(names, ["talk.mp3", "talk.mp3.txt", "b.jpg"]);
}

#[test]
fn the_page_shows_what_runs_here() {
    let page = include_str!("../../../../docs/adding-a-phase.md");
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        assert!(include_str!("new_phase.rs").contains(block), "{block}");
    }
}

/// A phase, a file, what its worker may put for it, and what not.
type Case<'a> = (&'a dyn Phase, &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn workers_may_put_what_is_named_after_their_file() {
    let of = |name: &str| file(name, "audio/mpeg");
    let cases: [Case; 4] = [
        (
            &AudioTranscription,
            "talk.mp3",
            &["talk.mp3.txt"],
            &["talk.mp3", "talk.txt", "talk.mp3.d/x", "talk.mp31"],
        ),
        (&TiffConversion, "a.tif", &["a.jpg", "a-p0001.jpg"], &["a.tif", "a.txt", "ab.jpg", "a-p1x.jpg"]),
        (&PdfSplitting, "b.pdf", &["b-p0001.jpg", "b-p0001.txt"], &["b.pdf", "b-p0001.exe", "c-p0001.jpg"]),
        (&ImageProcessing, "c.jpg", &["c.jpg.ref.json"], &["c.jpg", "c.jpg.txt", "d.jpg.ref.json"]),
    ];
    for (phase, name, may, may_not) in cases {
        let may_put = |key: &&str| phase.may_put(&of(name), &format!("staging/b1/{key}"));
        assert!(may.iter().all(may_put), "{name}");
        assert_eq!(may_not.iter().copied().find(|key| may_put(key)), None, "{name}");
    }
}
