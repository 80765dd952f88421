//! An engine that takes in clients and workers of other processes, and a client of it that reads results and failures.

use std::error::Error;

use hq_client::{Client, DetailPart, Selector};
use hq_engine::{Engine, Job, LocalWorker, Task, serve::ServeOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::temp_dir().join(format!("hq-service-{}", std::process::id()));
    let engine = Engine::builder().worker(LocalWorker::cpus(2)).start().await?;
    // From here on `hq --server-dir DIR …` finds it: its commands are answered, `hq worker start` brings more workers.
    let info = engine.serve(ServeOptions::new(&dir)).await?;
    println!("server {} is in {}", info.server_uid, dir.display());

    let task = Task::program("bash").args(["-c", "exit $((HQ_TASK_ID == 2 ? 7 : 0))"]);
    let job = engine.submit(Job::array(1..4, task).name("three")).await?;
    let result = job.wait().await?;
    if result.is_success() {
        println!("all of job {} is well", result.info.id);
    }
    for (task, why) in &result.failures {
        println!("task {task} failed: {why}");
    }

    // The same as any other process sees it.
    let client = Client::connect(&dir).await?;
    for job in client.jobs(Selector::All).await? {
        println!(
            "job {} `{}`: {:?}, {} of {} failed",
            job.id,
            job.spec.name,
            job.state(),
            job.counts.failed,
            job.counts.total()
        );
    }
    let mut details = client.details(Selector::Last, DetailPart::whole(false));
    while let Some(piece) = details.next().await? {
        for task in &piece.detail.tasks {
            println!(
                "  task {}: {:?} {}",
                task.number,
                task.state,
                task.error.as_deref().unwrap_or("without an error")
            );
        }
    }
    client.close().await;
    engine.shutdown().await?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
