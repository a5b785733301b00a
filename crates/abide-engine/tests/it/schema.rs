//! Rows that outlive their shape.

use abide_engine::object::NoRefusal;
use abide_engine::testing::World;
use abide_engine::{Answer, CallError, Halt, Nothing, Object, Record, Turn, TurnError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Three releases of one kind.
struct Shelf<const RELEASE: u16>;

#[derive(Debug, Serialize, Deserialize)]
struct BookV1 {
    title: String,
}

impl Record for BookV1 {}

#[derive(Debug, Serialize, Deserialize)]
struct BookV3 {
    title: String,
    priority: i64,
    tags: Vec<String>,
}

impl Record for BookV3 {
    const SCHEMA: u16 = 3;

    fn upgrade(from: u16, mut old: Value) -> Result<Value, String> {
        match from {
            1 => old["priority"] = json!(0),
            2 => old["tags"] = json!([]),
            other => return Err(format!("no upgrade from {other}")),
        }
        Ok(old)
    }
}

#[derive(Serialize, Deserialize)]
enum Ask {
    Put(String),
    Get,
}

impl Object for Shelf<1> {
    const KIND: &'static str = "shelf";
    type Call = Ask;
    type Reply = Value;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<Value>, Halt<NoRefusal>> {
        if let Ask::Put(title) = ask {
            turn.put("book", &BookV1 { title })?;
        }
        Ok(json!(turn.get::<BookV1>("book")?).into())
    }
}

impl Object for Shelf<3> {
    const KIND: &'static str = "shelf";
    type Call = Ask;
    type Reply = Value;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<Value>, Halt<NoRefusal>> {
        if let Ask::Put(title) = ask {
            let mut book: BookV3 =
                turn.get("book")?.unwrap_or(BookV3 { title: String::new(), priority: 9, tags: vec![] });
            book.title = title;
            turn.put("book", &book)?;
        }
        Ok(json!(turn.get::<BookV3>("book")?).into())
    }
}

#[test]
fn an_old_row_is_upgraded_on_read_written_back_on_put_and_left_alone_by_older_programs() {
    let mut world = World::new();
    world.object(Shelf::<1>);
    world.call::<Value>("shelf/a", &Ask::Put("Emma".into())).unwrap();
    let commits = world.commits().len();

    world.deploy(Shelf::<3>);
    let read: Value = world.call("shelf/a", &Ask::Get).unwrap();
    assert_eq!(read, json!({"title": "Emma", "priority": 0, "tags": []}));
    assert_eq!(world.commits().len(), commits, "a read writes nothing");
    world.call::<Value>("shelf/a", &Ask::Put("Persuasion".into())).unwrap();

    world.deploy(Shelf::<1>);
    let refused = world.call::<Value>("shelf/a", &Ask::Get);
    let newer = TurnError::NewerRow { key: "book".into(), found: 3, known: 1 };
    assert_eq!(refused, Err(CallError::Failed(newer)));

    world.deploy(Shelf::<3>);
    let read: Value = world.call("shelf/a", &Ask::Get).unwrap();
    assert_eq!(read, json!({"title": "Persuasion", "priority": 0, "tags": []}));
}
