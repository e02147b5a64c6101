import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** mongo-java-server on 127.0.0.1 at the port given, under a version that today's drivers accept. */
public class MemoryStore {
    public static void main(String[] args) {
        MongoVersion version = new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return List.of(7, 0, 0);
            }

            @Override
            public int getWireVersion() {
                return 21;
            }
        };
        MongoServer server = new MongoServer(new MemoryBackend().version(version));
        server.bind("127.0.0.1", Integer.parseInt(args[0]));
    }
}
