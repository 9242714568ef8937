import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One node of OpenSearch on loopback, with its data below a folder. It writes its port into a file, and ends with its input. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("http.port", port);
            settings.put("discovery.type", "single-node");
            settings.putList("network.host", "127.0.0.1");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
            settings.putList("path.repo", arguments[0]);
        }).build(OpenSearchRunner.newConfigs().basePath(arguments[0]).clusterName("tests").numOfNode(1).useLogger());
        Files.writeString(Path.of(arguments[1]), port + "\n");
        while (System.in.read() >= 0) {
            // Whoever holds the other end says nothing: it ends with them.
        }
        Runtime.getRuntime().halt(0);
    }
}
