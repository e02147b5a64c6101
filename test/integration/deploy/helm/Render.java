import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs Helm on a chart. With the arguments CHART FOLDER, lints the chart strictly and renders it with each values file
 * (*.yaml) in the folder. Writes the results there: lint.passed or lint.failed with the messages, and for each values
 * file NAME.rendered with the manifests or NAME.rejected with the reason.
 */
public class Render {
    /** The oldest supported version. */
    private static final String KUBERNETES = "1.30.0";

    public static void main(String[] args) throws IOException {
        Helm chart = new Helm(Path.of(args[0]));
        Path folder = Path.of(args[1]);
        LintResult lint = chart.lint().strict().call();
        Files.write(folder.resolve(lint.isFailed() ? "lint.failed" : "lint.passed"), lint.getMessages());
        for (Path values : valuesFiles(folder)) render(chart, values);
    }

    private static List<Path> valuesFiles(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".yaml")).sorted().collect(Collectors.toList());
        }
    }

    private static void render(Helm chart, Path values) throws IOException {
        String name = values.getFileName().toString().replaceFirst("\\.yaml$", "");
        try {
            String manifests =
                chart.template().withName("events").withNamespace("messaging").withKubeVersion(KUBERNETES)
                    .withValuesFile(values).call();
            Files.writeString(values.resolveSibling(name + ".rendered"), manifests);
        } catch (IllegalStateException | IllegalArgumentException rejection) {
            Files.writeString(values.resolveSibling(name + ".rejected"), rejection.getMessage());
        }
    }
}
