//! The table of routes: method, path, who may use it, what it does, and the handler, each said once.
//!
//! Authorization, `/openapi.json`, `docs/http.md` and `docs/security.md` all follow from this table.

use crate::app::App;
use crate::gate::Gate;
use crate::role::Role;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};

/// One route as documents have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteInfo {
    /// `GET`, `POST`, …
    pub method: &'static str,
    /// With its parameters in braces.
    pub path: &'static str,
    /// Who may use it.
    pub role: Role,
    /// What it does, in a sentence without its full stop.
    pub does: &'static str,
}

/// Routes with their handlers.
pub(crate) struct Routes {
    table: Vec<RouteInfo>,
    router: Router<App>,
}

impl Routes {
    pub(crate) fn new() -> Routes {
        Routes { table: Vec::new(), router: Router::new() }
    }

    pub(crate) fn get<H, T>(self, path: &'static str, role: Role, does: &'static str, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::GET, RouteInfo { method: "GET", path, role, does }, handler)
    }

    pub(crate) fn post<H, T>(self, path: &'static str, role: Role, does: &'static str, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::POST, RouteInfo { method: "POST", path, role, does }, handler)
    }

    pub(crate) fn put<H, T>(self, path: &'static str, role: Role, does: &'static str, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::PUT, RouteInfo { method: "PUT", path, role, does }, handler)
    }

    pub(crate) fn patch<H, T>(self, path: &'static str, role: Role, does: &'static str, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::PATCH, RouteInfo { method: "PATCH", path, role, does }, handler)
    }

    pub(crate) fn delete<H, T>(self, path: &'static str, role: Role, does: &'static str, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::DELETE, RouteInfo { method: "DELETE", path, role, does }, handler)
    }

    pub(crate) fn options<H, T>(
        self,
        path: &'static str,
        role: Role,
        does: &'static str,
        handler: H,
    ) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.on(MethodFilter::OPTIONS, RouteInfo { method: "OPTIONS", path, role, does }, handler)
    }

    /// Answers at a path that says the same as that of a route in other words. No document has it.
    pub(crate) fn also_get<H, T>(self, path: &'static str, role: Role, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let answers = on(MethodFilter::GET, Gate { role, handler });
        Routes { router: self.router.route(path, answers), ..self }
    }

    /// These and those.
    pub(crate) fn and(mut self, other: Routes) -> Routes {
        self.table.extend(other.table);
        Routes { table: self.table, router: self.router.merge(other.router) }
    }

    /// What documents say about them.
    pub(crate) fn table(&self) -> &[RouteInfo] {
        &self.table
    }

    /// What answers them.
    pub(crate) fn into_router(self) -> Router<App> {
        self.router
    }

    fn on<H, T>(mut self, filter: MethodFilter, info: RouteInfo, handler: H) -> Routes
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.table.push(info);
        let answers = on(filter, Gate { role: info.role, handler });
        Routes { table: self.table, router: self.router.route(info.path, answers) }
    }
}
