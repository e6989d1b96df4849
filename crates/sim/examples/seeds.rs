//! Runs seeds: `seeds FIRST COUNT STEPS`.
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).filter_map(|x| x.parse().ok()).collect();
    let (first, count, steps) = (a[0], a[1], a[2]);
    let mut total = sim::Report::default();
    let mut bad = 0;
    for seed in first..first + count {
        match sim::run(sim::RunOptions::usual(seed, steps)) {
            Ok(r) => total.add(&r),
            Err(e) => {
                println!("{e}");
                bad += 1;
            }
        }
    }
    println!("{bad} bad; {total}");
}
