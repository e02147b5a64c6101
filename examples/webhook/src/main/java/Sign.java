import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.time.Instant;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.camel.Exchange;
import org.apache.camel.Message;
import org.apache.camel.Processor;

/** Sets the headers of Standard Webhooks, https://www.standardwebhooks.com, before each attempt. */
public final class Sign implements Processor {
  private SecretKeySpec key;

  /** The base64 of the key, with or without the prefix that the specification gives it. */
  public void setSecret(String secret) {
    key = new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256");
  }

  @Override
  public void process(Exchange exchange) throws Exception {
    Message message = exchange.getMessage();
    // External ids have any characters. A dot could move the end of the id in what is signed.
    String id =
        URLEncoder.encode(exchange.getProperty("webhook-id", String.class), UTF_8).replace(".", "%2E");
    String timestamp = String.valueOf(Instant.now().getEpochSecond());
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(key);
    mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
    String signature = Base64.getEncoder().encodeToString(mac.doFinal(message.getBody(byte[].class)));
    message.setHeader("webhook-id", id);
    message.setHeader("webhook-timestamp", timestamp);
    message.setHeader("webhook-signature", "v1," + signature);
    if (message.getHeader(Exchange.CONTENT_TYPE) == null) {
      message.setHeader(Exchange.CONTENT_TYPE, "application/json");
    }
  }
}
