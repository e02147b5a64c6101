import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/** Runs a broker whose OAUTHBEARER listeners accept what AWS MSK accepts: presigned requests (Signature Version 4). */
public class IamBroker {
    public static void main(String[] args) throws Exception {
        // Kafka finds the validator there.
        Thread.currentThread().setContextClassLoader(IamBroker.class.getClassLoader());
        kafka.Kafka.main(args);
    }

    /** Its options are properties of the system: iam.accessKey, iam.secretKey, iam.sessionToken and iam.region. */
    public static class Validator implements AuthenticateCallbackHandler {
        private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

        @Override
        public void close() {}

        @Override
        public void handle(Callback[] callbacks) {
            for (Callback callback : callbacks) {
                if (callback instanceof OAuthBearerValidatorCallback token) {
                    try {
                        token.token(verify(token.tokenValue()));
                    } catch (Exception rejection) {
                        System.err.println("token rejected: " + rejection.getMessage());
                        token.error("invalid_token", null, null);
                    }
                } else if (callback instanceof OAuthBearerExtensionsValidatorCallback extensions) {
                    extensions.inputExtensions().map().keySet().forEach(extensions::valid);
                }
            }
        }

        private OAuthBearerToken verify(String token) throws Exception {
            URI uri = new URI(new String(Base64.getUrlDecoder().decode(token), StandardCharsets.UTF_8));
            Map<String, String> query = new TreeMap<>();
            for (String part : uri.getRawQuery().split("&")) {
                String[] pair = part.split("=", 2);
                query.put(pair[0], pair[1]);
            }
            String region = option("region");
            require("host", uri.getScheme() + "://" + uri.getRawAuthority() + uri.getRawPath(),
                "https://kafka." + region + ".amazonaws.com/");
            String time = query.getOrDefault("X-Amz-Date", "");
            String scope = time.substring(0, 8) + "/" + region + "/kafka-cluster/aws4_request";
            require("action", decode(query.get("Action")), "kafka-cluster:Connect");
            require("credential", decode(query.get("X-Amz-Credential")), option("accessKey") + "/" + scope);
            require("session", decode(query.get("X-Amz-Security-Token")), option("sessionToken"));
            String signature = query.remove("X-Amz-Signature");
            // Added after the signature.
            query.remove("User-Agent");
            require("signature", signature, sign(canonicalize(uri, query), time, scope));
            long start = Instant.from(TIME.parse(time)).toEpochMilli();
            long end = start + 1000 * Long.parseLong(query.get("X-Amz-Expires"));
            if (end < System.currentTimeMillis()) throw new SecurityException("expired");
            return accept(token, start, end);
        }

        private String canonicalize(URI uri, Map<String, String> query) throws Exception {
            String parameters = query.entrySet().stream()
                .map(one -> one.getKey() + "=" + one.getValue())
                .collect(Collectors.joining("&"));
            return "GET\n/\n" + parameters + "\nhost:" + uri.getHost() + "\n\nhost\n" + hash("");
        }

        private String sign(String request, String time, String scope) throws Exception {
            byte[] key = ("AWS4" + option("secretKey")).getBytes(StandardCharsets.UTF_8);
            for (String part : scope.split("/")) key = hmac(key, part);
            String text = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + hash(request);
            return HexFormat.of().formatHex(hmac(key, text));
        }

        private OAuthBearerToken accept(String token, long start, long end) {
            return new OAuthBearerToken() {
                public String value() { return token; }
                public Set<String> scope() { return Set.of(); }
                public long lifetimeMs() { return end; }
                public String principalName() { return option("accessKey"); }
                public Long startTimeMs() { return start; }
            };
        }

        private static String option(String name) {
            return System.getProperty("iam." + name);
        }

        private static void require(String what, String actual, String expected) {
            if (!expected.equals(actual)) throw new SecurityException(what + " is " + actual);
        }

        private static String decode(String text) {
            return URLDecoder.decode(String.valueOf(text), StandardCharsets.UTF_8);
        }

        private static String hash(String text) throws Exception {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        }

        private static byte[] hmac(byte[] key, String text) throws Exception {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        }
    }
}
