// Prints how many calls CDT's reader finds in the folder of a process: javac with the sources of boot, common and parsers of
// github.com/Netcracker/qubership-profiler-agent and jakarta.inject, slf4j-api and trove4j; name a program that runs it by
// TRACELOOM_CDT_READER (docs/emit.md).
import com.netcracker.profiler.dump.DataInputStreamEx;
import com.netcracker.profiler.io.Call;
import com.netcracker.profiler.io.CallReader;
import com.netcracker.profiler.io.SuspendLog;
import com.netcracker.profiler.io.call.CallDataReaderFactory;
import com.netcracker.profiler.io.call.CallDataReader_00;
import com.netcracker.profiler.io.call.CallDataReader_01;
import com.netcracker.profiler.io.call.CallDataReader_02;
import com.netcracker.profiler.io.call.CallDataReader_03;
import com.netcracker.profiler.io.call.CallDataReader_04;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Map;

public class CdtReader extends CallReader {
    private final CallDataReaderFactory readers = new CallDataReaderFactory(
            Map.of(
                    1, CallDataReader_01::new,
                    2, CallDataReader_02::new,
                    3, CallDataReader_03::new,
                    4, CallDataReader_04::new),
            CallDataReader_00::new);

    CdtReader() {
        super(null, null);
    }

    public static void main(String[] folders) throws IOException {
        CdtReader reader = new CdtReader();
        long calls = 0;
        long duration = 0;
        BitSet words = new BitSet();
        for (String folder : folders) {
            File[] files = new File(folder, "calls").listFiles();
            Arrays.sort(files);
            for (File file : files) {
                ArrayList<Call> found = new ArrayList<>();
                DataInputStreamEx stream = DataInputStreamEx.openDataInputStream(file);
                reader.findCallsInStream(stream, null, SuspendLog.EMPTY, found, words);
                calls += found.size();
                duration += found.stream().mapToLong(call -> call.duration).sum();
            }
        }
        for (Throwable error : reader.getExceptions()) {
            throw new IOException(error);
        }
        System.out.println(calls + " calls, " + words.cardinality() + " words, " + duration + " ms");
    }

    @Override
    protected CallDataReaderFactory getCallDataReaderFactory() {
        return readers;
    }

    @Override
    protected void innerFind() {
    }
}
