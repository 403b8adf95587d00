//! Dumps of goroutines.

use crate::random::Random;

pub(crate) fn dump(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let (mut made, mut id) = (0, 1);
    while made < bytes {
        let state = random.pick(&["running", "chan receive, 2 minutes", "IO wait", "select"]);
        let mut text = format!("goroutine {id} [{state}]:\n");
        for _ in 0..random.below(9) + 1 {
            let at = random.below(7);
            text += &format!(
                "main.(*Shop).step{at}(0xc000012{at}45, {{0x7b1, 0x{at}}})\n\t/src/shop/step{at}.go:{} +0x1{at}\n",
                at + 12
            );
        }
        text += "created by main.main in goroutine 1\n\t/src/shop/main.go:21 +0x1a5\n\n";
        id += 1;
        made += text.len() as u64;
        out(text.as_bytes());
    }
}
