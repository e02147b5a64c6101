import "./crash-page.ts";
import "./locale.ts";
import { render } from "preact";

import { App } from "./app.tsx";
import "./style.css";
import "./forms.css";

render(<App />, document.body);
