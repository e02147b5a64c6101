import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.Cursor;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.aggregation.Aggregation;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.backend.memory.index.MemoryUniqueIndex;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.exception.MongoServerError;
import de.bwaldvogel.mongo.oplog.Oplog;
import java.util.List;

/** Runs mongo-java-server on the given port of 127.0.0.1, with a version that current drivers accept. */
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
        MongoServer server = new MongoServer(new Backend().version(version));
        server.bind("127.0.0.1", Integer.parseInt(args[0]));
    }

    private static class Backend extends MemoryBackend {
        Backend() {
            oplog = new NoChangeStreams();
        }

        @Override
        public MemoryDatabase openOrCreateDatabase(String name) {
            return new MemoryDatabase(name, getCursorRegistry()) {
                @Override
                protected Index<Integer> openOrCreateUniqueIndex(
                        String collection, String index, List<IndexKey> keys, boolean sparse) {
                    return new UniqueIndex(index, keys, sparse);
                }
            };
        }
    }

    /** Rejects change streams as a standalone MongoDB does. The default fails with a null pointer. */
    private static class NoChangeStreams implements Oplog {
        @Override
        public void handleInsert(String namespace, List<Document> documents) {}

        @Override
        public void handleUpdate(String namespace, Document selector, Document query, List<Object> modifiedIds) {}

        @Override
        public void handleDelete(String namespace, Document query, List<Object> deletedIds) {}

        @Override
        public void handleDropCollection(String namespace) {}

        @Override
        public Cursor createCursor(Document stage, String namespace, Aggregation aggregation) {
            throw new MongoServerError(40573, "Location40573", "The $changeStream stage needs a replica set");
        }
    }

    /**
     * mongo-java-server uses an index only for a query on exactly its fields. Like MongoDB, this also uses one whose
     * fields the query compares with plain values if the query has further conditions.
     */
    private static class UniqueIndex extends MemoryUniqueIndex {
        UniqueIndex(String name, List<IndexKey> keys, boolean sparse) {
            super(name, keys, sparse);
        }

        @Override
        public boolean canHandle(Document query) {
            return super.canHandle(query)
                || keySet().stream().allMatch(key -> query.get(key) instanceof String);
        }
    }
}
