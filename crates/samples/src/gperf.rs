//! Profiles of gperftools and text profiles of Go.

use crate::random::Random;

const MAP: &str = "00400000-00fcb000 r-xp 00000000 00:00 21306940    /srv/shop/server\n\
    7f5e54010000-7f5e541b0000 r-xp 00000000 00:00 1461        /lib/libc-2.15.so\n\
    7ffffb56b000-7ffffb56d000 r-xp 00000000 00:00 0           [vdso]\n";

const FUNCTIONS: [&str; 8] = [
    "main.main",
    "main.(*Shop).buy",
    "main.(*Shop).price",
    "net/http.(*conn).serve",
    "net/http.HandlerFunc.ServeHTTP",
    "encoding/json.(*decodeState).object",
    "main.stock[...]",
    "os.(*File).Read",
];

fn address(function: u64) -> u64 {
    0x40_1000 + function * 0x100
}

/// Writes pieces and counts their bytes.
struct CountedOutput<'a> {
    put: &'a mut dyn FnMut(&[u8]),
    n_bytes: u64,
}

impl CountedOutput<'_> {
    fn line(&mut self, line: &str) {
        (self.put)(line.as_bytes());
        (self.put)(b"\n");
        self.n_bytes += line.len() as u64 + 1;
    }
}

/// The functions of a stack, the innermost first.
fn stack(random: &mut Random) -> Vec<u64> {
    (0..1 + random.number(12))
        .map(|_| random.number(FUNCTIONS.len() as u64))
        .collect()
}

fn hex(stack: &[u64]) -> String {
    let words = stack.iter().map(|&function| {
        // The address of return is one behind that of the name.
        format!(" {:#x}", address(function) + 1)
    });
    words.collect()
}

fn comments(stack: &[u64], out: &mut CountedOutput<'_>) {
    for &function in stack {
        let name = usize::try_from(function)
            .ok()
            .and_then(|at| FUNCTIONS.get(at));
        let name = name.copied().unwrap_or("main.main");
        let pc = address(function);
        out.line(&format!(
            "#\t{pc:#x}\t{name}+{:#x}\t\t/src/shop/{function}.go:{}",
            pc % 0xff,
            function + 10
        ));
    }
    out.line("");
}

pub(crate) fn cpu(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut words: Vec<u64> = vec![0, 3, 0, 10_000, 0];
    let mut done = 0;
    let mut put = |words: &[u64]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        out(&bytes);
        bytes.len() as u64
    };
    while done < bytes {
        done += put(&words);
        let depth = 1 + random.number(30);
        words = vec![1 + random.number(9), depth];
        words.extend((0..depth).map(|_| 0x40_0000 + random.number(0xbc_0000)));
    }
    put(&[0, 1, 0]);
    out(MAP.as_bytes());
}

pub(crate) fn heap(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut out = CountedOutput {
        put: out,
        n_bytes: 0,
    };
    out.line("--- symbol");
    out.line("binary=/srv/shop/server");
    for function in 0..FUNCTIONS.len() as u64 {
        out.line(&format!(
            "{:#x} shop::f{function}()--stock",
            address(function)
        ));
    }
    out.line("---");
    out.line("--- heap");
    out.line("heap profile:    144:  8498176 [   144:  8498176] @ heapz_v2/524288");
    while out.n_bytes < bytes {
        let count = 1 + random.number(40);
        let size = count * (16 << random.number(12));
        let stack = stack(&mut random);
        out.line(&format!(
            "{count:6}: {size:8} [{count:6}: {size:8}] @{}",
            hex(&stack)
        ));
    }
    out.line("");
    out.line("MAPPED_LIBRARIES:");
    (out.put)(MAP.as_bytes());
}

pub(crate) fn contention(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut out = CountedOutput {
        put: out,
        n_bytes: 0,
    };
    out.line("--- mutex:");
    out.line("cycles/second=2599998000");
    out.line("sampling period=5");
    while out.n_bytes < bytes {
        let stack = stack(&mut random);
        let cycles = 2600 * (1 + random.number(1000));
        out.line(&format!(
            "{cycles} {} @{}",
            1 + random.number(9),
            hex(&stack)
        ));
        comments(&stack, &mut out);
    }
}

pub(crate) fn count(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut samples = Vec::new();
    let (mut n_bytes, mut total) = (0, 0);
    while n_bytes < bytes {
        let (count, stack) = (1 + random.number(20), stack(&mut random));
        n_bytes += 40 + 60 * stack.len() as u64;
        total += count;
        samples.push((count, stack));
    }
    let mut out = CountedOutput {
        put: out,
        n_bytes: 0,
    };
    out.line(&format!("goroutine profile: total {total}"));
    for (count, stack) in samples {
        out.line(&format!("{count} @{}", hex(&stack)));
        if count % 3 == 0 {
            out.line("# labels: {\"route\":\"/buy\"}");
        }
        comments(&stack, &mut out);
    }
}
