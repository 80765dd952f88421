//! Classes of tasks are forgotten with the last submit and lane that has them: their numbers come again, in any order of submits,
//! ends, cancels, restarts and prunings, and nothing takes one for another.

mod bounded;
#[path = "../common/mod.rs"]
mod common;
mod rig;

use proptest::prelude::*;
use rig::{Op, Rig, SHAPES};

fn op() -> impl Strategy<Value = Op> {
    let shape = 0..SHAPES as u8;
    let shapes = prop::collection::vec(shape, 1..4);
    prop_oneof![
        6 => (shapes, 1u8..4).prop_map(|(shapes, each)| Op::Submit { shapes, each }),
        8 => any::<u8>().prop_map(Op::End),
        2 => any::<u8>().prop_map(Op::Cancel),
        5 => any::<u8>().prop_map(Op::Forget),
        1 => any::<u8>().prop_map(Op::Suspend),
        1 => Just(Op::Condense),
        1 => any::<bool>().prop_map(|pruned| Op::Restart { pruned }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_that_come_again_mean_what_they_mean_now(ops in prop::collection::vec(op(), 1..70)) {
        let mut rig = Rig::new();
        for op in ops {
            rig.apply(&op);
        }
        rig.end_all();
    }
}
