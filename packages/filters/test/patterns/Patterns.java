import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Reads lines of a pattern, a tab and a text. Prints, line by line, whether the text has a part that the pattern
 * matches.
 */
public class Patterns {
    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] parts = line.split("\t", -1);
            output.print(Pattern.compile(parts[0]).matcher(parts[1]).find() + "\n");
        }
        output.flush();
    }
}
