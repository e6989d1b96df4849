use crate::prelude::*;

check! {
    /// The change attribute grows with WRITE, SETATTR and LINK.
    535, "RFC 8881 §5.8.1.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    let mut last = client.facts(&file.handle)?;
    for step in 0..4 {
        match step {
            0 => client.write(&file, 0, b"y")?,
            1 => client.set_mode(&file.handle, 0o600)?,
            2 => client.set(&file.handle, [Attribute::Size(100)])?,
            _ => {
                let link = [op::put(&file.handle), op::save(), op::put(&directory), op::link("g")];
                client.call(link)?.ok()?;
            }
        }
        let found = client.facts(&file.handle)?;
        expect(found.change > last.change, || {
            format!("change after step {step}: expected more than {}, found {}", last.change, found.change)
        })?;
        last = found;
    }
    Ok(())
}
