//! A served folder without a process around it.

use std::path::Path;

use cbwk_gpu::learner::live::{Live, LiveSettings, Request};
use cbwk_gpu::shop::TaskFolder;
use serde_json::Value;

use crate::served::{balanced, first_answer};

pub fn open(folder: &Path) -> Live {
    let folder = TaskFolder::open(folder).unwrap();
    folder.live(LiveSettings::default()).unwrap().0
}

/// Asks, and checks that the same request gets the same answer again, and that the books balance.
pub fn ask(live: &mut Live, request: &Value) -> Value {
    let parsed = Request::parse(request.to_string().as_bytes()).unwrap();
    let answer = live.handle(&parsed, 1);
    let answer = answer.unwrap_or_else(|refusal| panic!("{refusal:?} for {request}"));
    let again = live.handle(&parsed, 2).unwrap();
    if request["op"] != "state" {
        assert_eq!(first_answer(again), answer);
    }
    check_books(live);
    answer
}

pub fn refused(live: &mut Live, request: &Value) -> String {
    let request = Request::parse(request.to_string().as_bytes());
    let refusal = request.and_then(|request| live.handle(&request, 1));
    let refusal = refusal.unwrap_err();
    check_books(live);
    format!(
        "{}: {}",
        refusal.json()["error"]["code"].as_str().unwrap(),
        refusal.message
    )
}

fn check_books(live: &mut Live) {
    balanced(&live.handle(&Request::State, 1).unwrap());
}

pub fn ask_again(live: &mut Live, request: &Value) -> Value {
    let request = Request::parse(request.to_string().as_bytes()).unwrap();
    first_answer(live.handle(&request, 1).unwrap())
}
