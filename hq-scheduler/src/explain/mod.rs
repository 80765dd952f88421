//! Why a task waits.
//!
//! | file | concern |
//! |---|---|
//! | `task` | where a task stands, in one word, and its place in the order |
//! | `fit` | what of each worker a task of one worker could use |
//! | `gang` | the same for gangs |
//! | `held` | who holds the places that it could have |

mod fit;
mod gang;
mod held;
mod task;
