//! `/collections`: folders that became trees of entities, looked into, searched and changed by hand.

use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::page::items;
use crate::params::Params;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use abide_collections::{
    Call, Collection, DeletedCollection, Found, Moved, PartDocument, Renamed, Reply, Shelf, ShelfError,
    ShownFile, SourceFile, TreeDocument, Unfinished,
};
use abide_engine::{Refusal, RefusalClass};
use abide_entities::answer::Versions;
use abide_entities::{ContentId, EntityError, EntityId};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Their routes.
pub(crate) fn routes() -> Routes {
    use Role::{Operate, Read};
    Routes::new()
        .get("/collections", Read, "collections by name", list)
        .get("/collections/{name}", Read, "a collection", get)
        .put("/collections/{name}", Operate, "remember a collection, as ingest does", save)
        .delete(
            "/collections/{name}",
            Operate,
            "delete a collection, and everything that nothing else names",
            remove,
        )
        .get("/collections/{name}/files", Read, "files of the folder that it was made from", files)
        .post("/collections/{name}/files", Operate, "remember files, as ingest does", save_files)
        .get(
            "/collections/{name}/unfinished",
            Read,
            "folders and groups that something failed for",
            unfinished,
        )
        .post("/collections/{name}/unfinished", Operate, "remember them, as ingest does", save_unfinished)
        .get("/collections/{name}/tree", Read, "everything of it, with descriptions", tree)
        .get("/collections/{name}/part", Read, "a part: description, record, files, parts, versions", part)
        .get("/collections/{name}/file", Read, "a file: its text, and versions that changed it", file)
        .get("/collections/{name}/versions", Read, "versions of a part, newest first", versions)
        .get("/collections/{name}/search", Read, "what has all words of a query", search)
        .post("/collections/{name}/move", Operate, "move a file or a part by hand", relocate)
        .post("/collections/{name}/rename", Operate, "rename a part or a file by hand", rename)
}

fn shelf(app: &App) -> &Shelf {
    app.services().collections.as_ref().expect("its routes are there only with it")
}

impl From<ShelfError> for ApiError {
    fn from(error: ShelfError) -> ApiError {
        let message = error.to_string();
        match error {
            ShelfError::No(no) => ApiError::refused(ErrorCode::Refused(no.class()), no.code(), message),
            ShelfError::NoPart { .. } => {
                ApiError::refused(ErrorCode::Refused(RefusalClass::NotFound), "unknown_part", message)
            }
            ShelfError::Call(error) => error.into(),
            ShelfError::Entities(error) => of_entities(&error),
            ShelfError::Blobs(_) => ApiError::new(ErrorCode::StoreUnavailable, message),
            ShelfError::Strange => ApiError::new(ErrorCode::TurnFailed, message),
        }
    }
}

fn of_entities(error: &EntityError) -> ApiError {
    let refused = |class| ApiError::refused(ErrorCode::Refused(class), error.code(), error.to_string());
    match error {
        EntityError::Invalid(_) | EntityError::InvalidParams(_) | EntityError::InvalidCursor(_) => {
            refused(RefusalClass::Invalid)
        }
        EntityError::Forbidden(_) => refused(RefusalClass::Forbidden),
        EntityError::NotFound(_) => refused(RefusalClass::NotFound),
        EntityError::Conflict(_) | EntityError::Cas(_) => refused(RefusalClass::Conflict),
        EntityError::TooLarge(_) => ApiError::new(ErrorCode::TooLarge, error.to_string()),
        EntityError::Blobs(_) | EntityError::Backend(_) => {
            ApiError::new(ErrorCode::StoreUnavailable, error.to_string())
        }
        EntityError::Internal(_) => ApiError::new(ErrorCode::TurnFailed, error.to_string()),
    }
}

type Answered<T> = Result<Json<T>, ApiError>;

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AfterParams {
    after: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct CollectionsAnswer {
    collections: Vec<Collection>,
    next: Option<String>,
}

async fn list(
    State(app): State<App>,
    Params(AfterParams { after }): Params<AfterParams>,
) -> Answered<CollectionsAnswer> {
    match shelf(&app).ask(&Call::List { after }).await? {
        Reply::Collections { collections, next } => Ok(Json(CollectionsAnswer { collections, next })),
        _ => Err(ShelfError::Strange.into()),
    }
}

async fn get(State(app): State<App>, At(name): At<String>) -> Answered<Collection> {
    Ok(Json(shelf(&app).known(&name).await?))
}

async fn save(
    State(app): State<App>,
    At(name): At<String>,
    JsonBody(collection): JsonBody<Collection>,
) -> Answered<Collection> {
    if collection.name != name {
        let message = format!("the path names {name:?}, and the body {:?}", collection.name);
        return Err(ApiError::bad(message));
    }
    if collection.deleting {
        return Err(ApiError::bad("deleting: a collection is deleted by DELETE"));
    }
    match shelf(&app).ask(&Call::Save(Box::new(collection))).await? {
        Reply::Collection(Some(saved)) => Ok(Json(*saved)),
        _ => Err(ShelfError::Strange.into()),
    }
}

async fn remove(State(app): State<App>, At(name): At<String>) -> Answered<DeletedCollection> {
    Ok(Json(shelf(&app).delete(&name).await?))
}

#[derive(Serialize)]
pub(crate) struct FilesAnswer {
    files: Vec<(String, SourceFile)>,
    next: Option<String>,
}

async fn files(
    State(app): State<App>,
    At(name): At<String>,
    Params(AfterParams { after }): Params<AfterParams>,
) -> Answered<FilesAnswer> {
    match shelf(&app).ask(&Call::Files { name, after }).await? {
        Reply::Files { files, next } => Ok(Json(FilesAnswer { files, next })),
        _ => Err(ShelfError::Strange.into()),
    }
}

/// Files that are so from now on, or gone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesBody {
    #[serde(default)]
    put: BTreeMap<String, SourceFile>,
    #[serde(default)]
    gone: BTreeSet<String>,
}

#[derive(Serialize)]
pub(crate) struct Saved {
    ok: bool,
}

async fn save_files(
    State(app): State<App>,
    At(name): At<String>,
    JsonBody(FilesBody { put, gone }): JsonBody<FilesBody>,
) -> Answered<Saved> {
    shelf(&app).ask(&Call::SaveFiles { name, put, gone }).await?;
    Ok(Json(Saved { ok: true }))
}

#[derive(Serialize)]
pub(crate) struct UnfinishedAnswer {
    entities: Vec<(String, Unfinished)>,
    next: Option<String>,
}

async fn unfinished(
    State(app): State<App>,
    At(name): At<String>,
    Params(AfterParams { after }): Params<AfterParams>,
) -> Answered<UnfinishedAnswer> {
    match shelf(&app).ask(&Call::Unfinished { name, after }).await? {
        Reply::Unfinished { entities, next } => Ok(Json(UnfinishedAnswer { entities, next })),
        _ => Err(ShelfError::Strange.into()),
    }
}

/// Entities that something failed for, or that are done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnfinishedBody {
    #[serde(default)]
    put: BTreeMap<EntityId, Unfinished>,
    #[serde(default)]
    gone: BTreeSet<EntityId>,
}

async fn save_unfinished(
    State(app): State<App>,
    At(name): At<String>,
    JsonBody(UnfinishedBody { put, gone }): JsonBody<UnfinishedBody>,
) -> Answered<Saved> {
    shelf(&app).ask(&Call::SaveUnfinished { name, put, gone }).await?;
    Ok(Json(Saved { ok: true }))
}

async fn tree(State(app): State<App>, At(name): At<String>) -> Answered<TreeDocument> {
    Ok(Json(shelf(&app).tree(&name).await?))
}

/// Which part, and in which version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartParams {
    #[serde(default)]
    path: String,
    ver: Option<u32>,
}

async fn part(
    State(app): State<App>,
    At(name): At<String>,
    Params(PartParams { path, ver }): Params<PartParams>,
) -> Answered<PartDocument> {
    Ok(Json(shelf(&app).show(&name, &path, ver).await?))
}

async fn file(
    State(app): State<App>,
    At(name): At<String>,
    Params(PartParams { path, ver }): Params<PartParams>,
) -> Answered<ShownFile> {
    Ok(Json(shelf(&app).show_file(&name, &path, ver).await?))
}

/// Which part, and a page of its versions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionsParams {
    #[serde(default)]
    path: String,
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn versions(
    State(app): State<App>,
    At(name): At<String>,
    Params(VersionsParams { path, limit, cursor }): Params<VersionsParams>,
) -> Answered<Versions> {
    let cursor = cursor.map(|text| ContentId::parse(&text).map_err(|_| EntityError::InvalidCursor(text)));
    let cursor = cursor.transpose().map_err(ShelfError::from)?;
    Ok(Json(shelf(&app).versions(&name, &path, items(limit)?, cursor).await?))
}

/// What to search for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParams {
    q: String,
}

async fn search(
    State(app): State<App>,
    At(name): At<String>,
    Params(SearchParams { q }): Params<SearchParams>,
) -> Answered<Found> {
    Ok(Json(shelf(&app).search(&name, &q).await?))
}

/// What to move, and where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveBody {
    what: String,
    into: String,
}

async fn relocate(
    State(app): State<App>,
    At(name): At<String>,
    JsonBody(MoveBody { what, into }): JsonBody<MoveBody>,
) -> Answered<Moved> {
    Ok(Json(shelf(&app).relocate(&name, &what, &into).await?))
}

/// What to rename, and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenameBody {
    what: String,
    to: String,
}

async fn rename(
    State(app): State<App>,
    At(name): At<String>,
    JsonBody(RenameBody { what, to }): JsonBody<RenameBody>,
) -> Answered<Renamed> {
    Ok(Json(shelf(&app).rename(&name, &what, &to).await?))
}
