//! What tools of the JVM and the system print.

use crate::random::Random;

/// Makes thread dumps, ten seconds apart.
pub(crate) fn threads(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut made = 0;
    let mut second = 0;
    while made < bytes {
        let mut text = format!(
            "2026-03-14 10:{:02}:{:02}\nFull thread dump OpenJDK 64-Bit Server VM (21.0.2+13 mixed mode):\n\n",
            second / 60 % 60,
            second % 60
        );
        second += 10;
        for number in 1..=random.below(20) + 5 {
            let state = random.pick(&[
                "RUNNABLE",
                "WAITING (parking)",
                "BLOCKED (on object monitor)",
            ]);
            text += &format!(
                "\"http-nio-8080-exec-{number}\" #{} daemon prio=5 os_prio=0 cpu=12.5ms elapsed=600.1s \
                 tid=0x00007f0000{number:06x} nid={:#x} waiting on condition  [0x00007f00]\n   \
                 java.lang.Thread.State: {state}\n",
                number + 30,
                number + 100
            );
            for frame in 0..random.below(12) {
                text += &format!(
                    "\tat com.acme.shop.web.Filter{frame}.run(Filter{frame}.java:{})\n",
                    random.below(300) + 1
                );
            }
            text += "\n";
        }
        text += "JNI global refs: 26, weak refs: 0\n\n";
        made += text.len() as u64;
        out(text.as_bytes());
    }
}

/// Makes the tables that `top` prints, five seconds apart.
pub(crate) fn top(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut made = 0;
    let mut second = 0;
    while made < bytes {
        let mut text = format!(
            "top - 10:{:02}:{:02} up 12 days, 10:20,  0 user,  load average: {}.57, 5.18, 5.04\n\
             Threads:  76 total,   1 running,  75 sleeping,   0 stopped,   0 zombie\n\
             %Cpu(s):{}.0 us,  0.0 sy,  0.0 ni, 10.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
             MiB Mem :  64308.2 total,  30799.7 free,  21386.1 used,  12836.2 buff/cache\n\
             MiB Swap:      0.0 total,      0.0 free,      0.0 used.  42922.1 avail Mem\n\n    \
             PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n",
            second / 60 % 60,
            second % 60,
            random.below(9),
            random.below(90)
        );
        second += 5;
        for number in 0..random.below(30) + 3 {
            text += &format!(
                "{:>7} appuser   20   0 1226780 523972  23584 S   {}.9   0.8  17:52.72 http-nio-{number}\n",
                number + 209,
                random.below(60)
            );
        }
        text += "\n";
        made += text.len() as u64;
        out(text.as_bytes());
    }
}
