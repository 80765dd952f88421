mod common;
use common::*;
use hq_core::*;
use hq_journal::*;
#[test]
fn tmp_speed() {
    let dir = tempfile::tempdir().unwrap();
    for (per, n) in [(64u64, 156_250u64), (1, 1_000_000)] {
        let path = dir.path().join(format!("j{per}"));
        let (mut j, _) = open(&path).unwrap();
        let t = std::time::Instant::now();
        for i in 0..n {
            let ends = (0..per).map(|k| { let s = Tick(1 << 40).after(Span((i * per + k) * 1000)); End { task: Ordinal(i * per + k), start: s, end: s.after(Span(960)) } });
            let r = finished(1 << 41, 7, ends);
            j.append(Epoch(1), Seq(i + 1), &[r], Urgency::Now).unwrap();
        }
        Box::new(j).close().unwrap();
        let wrote = t.elapsed();
        let t = std::time::Instant::now();
        let (j, _) = open(&path).unwrap();
        let opened = t.elapsed();
        let t = std::time::Instant::now();
        let mut ends = 0;
        for item in j.read(Seq(1)) {
            if let Fact::TasksFinished { ends: e, .. } = item.unwrap().1.fact { ends += e.iter().count(); }
        }
        eprintln!("{per}: wrote {wrote:?} opened {opened:?} read {:?} ends {ends} bytes {}", t.elapsed(), std::fs::metadata(&path).unwrap().len());
    }
    // damage in a big random frame
    let mut rng = Rng::new(3);
    let blob: Vec<u8> = (0..4_000_000).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    let path = dir.path().join("big");
    write(&path, &[vec![submitted(1, 1, &blob)], vec![closed(1, 1)]]);
    let mut b = std::fs::read(&path).unwrap();
    b[200] ^= 1;
    std::fs::write(&path, b).unwrap();
    let t = std::time::Instant::now();
    eprintln!("{:?}", open(&path).err());
    eprintln!("resync {:?}", t.elapsed());
}
