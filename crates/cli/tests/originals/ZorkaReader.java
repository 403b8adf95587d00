// Prints what Zorka's reader of traces finds in files of CBOR, a line for each thing: javac with the sources of zorka-common of
// github.com/jitlogic/zorka, and name a program that runs it by TRACELOOM_ZORKA_READER (docs/emit.md).
import com.jitlogic.zorka.common.cbor.CborDataReader;
import com.jitlogic.zorka.common.cbor.TraceDataProcessor;
import com.jitlogic.zorka.common.cbor.TraceDataReader;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class ZorkaReader implements TraceDataProcessor {
    private final Map<Integer, String> strings = new HashMap<>();
    private final Map<Integer, String> methods = new HashMap<>();

    /// `--count` in front of a file prints how many records it has.
    public static void main(String[] words) throws IOException {
        boolean counts = words[0].equals("--count");
        ZorkaCounter counter = new ZorkaCounter();
        ZorkaReader reader = new ZorkaReader();
        for (int at = counts ? 1 : 0; at < words.length; at++) {
            byte[] bytes = Files.readAllBytes(Paths.get(words[at]));
            new TraceDataReader(new CborDataReader(bytes), counts ? counter : reader).run();
        }
        if (counts) {
            System.out.println(counter.records + " records");
        }
    }

    @Override
    public void stringRef(int id, String text) {
        strings.put(id, text);
    }

    @Override
    public void methodRef(int id, int type, int method, int signature) {
        methods.put(id, strings.get(type) + "." + strings.get(method) + strings.get(signature));
    }

    @Override
    public void traceStart(int position, long start, int method) {
        System.out.println("start " + start + " " + methods.get(method));
    }

    @Override
    public void traceEnd(int position, long stop, long calls, int flags) {
        System.out.println("end " + stop + " " + calls + " " + flags);
    }

    @Override
    public void traceBegin(long time, int kind, long span, long parent) {
        System.out.println("begin " + strings.get(kind) + " " + span + " " + parent);
    }

    @Override
    public void traceAttr(int name, Object value) {
        System.out.println("attribute " + strings.get(name) + " " + value);
    }

    @Override
    public void traceAttr(int kind, int name, Object value) {
        System.out.println("attribute " + strings.get(kind) + " " + strings.get(name) + " " + value);
    }

    @Override
    public void exception(long id, int type, String message, long cause, List<int[]> stack, Map<Integer, Object> attributes) {
        StringBuilder frames = new StringBuilder();
        for (int[] frame : stack) {
            frames.append(' ').append(strings.get(frame[0])).append('.').append(strings.get(frame[1])).append(':').append(frame[3]);
        }
        System.out.println("exception " + strings.get(type) + " " + message + frames);
    }

    @Override
    public void exceptionRef(long id) {
        System.out.println("exception again");
    }
}

/** Counts what the reader finds. */
class ZorkaCounter implements TraceDataProcessor {
    long records;

    @Override
    public void stringRef(int id, String text) {
        records++;
    }

    @Override
    public void methodRef(int id, int type, int method, int signature) {
        records++;
    }

    @Override
    public void traceStart(int position, long start, int method) {
        records++;
    }

    @Override
    public void traceEnd(int position, long stop, long calls, int flags) {
        records++;
    }

    @Override
    public void traceBegin(long time, int kind, long span, long parent) {
        records++;
    }

    @Override
    public void traceAttr(int name, Object value) {
        records++;
    }

    @Override
    public void traceAttr(int kind, int name, Object value) {
        records++;
    }

    @Override
    public void exception(long id, int type, String message, long cause, List<int[]> stack, Map<Integer, Object> attributes) {
        records++;
    }

    @Override
    public void exceptionRef(long id) {
        records++;
    }
}
