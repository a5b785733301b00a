//! Making a failing seed small: fewer faults, fewer kinds of work, fewer steps, as long as it still fails.

use crate::outcome::{Failure, Report};
use crate::plan::Plan;

/// Tries smaller plans and gives the smallest failure it finds. `run` says how a plan goes.
pub fn shrink(failure: Failure, run: impl Fn(u64, &Plan) -> Result<Report, Failure>) -> Failure {
    let mut smallest = failure;
    let try_plan = |smallest: &mut Failure, plan: Plan| match run(smallest.seed, &plan) {
        Err(smaller) if smaller.violation.promise == smallest.violation.promise => {
            *smallest = smaller;
            true
        }
        Err(_) | Ok(_) => false,
    };
    for fault in smallest.plan.faults.clone() {
        let mut plan = *smallest.plan.clone();
        plan.faults.remove(&fault);
        try_plan(&mut smallest, plan);
    }
    for work in smallest.plan.work.clone() {
        let mut plan = *smallest.plan.clone();
        plan.work.remove(&work);
        try_plan(&mut smallest, plan);
    }
    let mut less = smallest.plan.steps / 2;
    while less > 0 {
        let steps = smallest.plan.steps.saturating_sub(less);
        let plan = Plan { steps, ..*smallest.plan.clone() };
        if !try_plan(&mut smallest, plan) {
            less /= 2;
        }
        less = less.min(smallest.plan.steps);
    }
    smallest
}
