/** Hooks: one blocks deployments on Fridays, another hides an access token from the model. */
import { createAgent, defineTool } from "skein";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  input: { type: "object" },
  run: () => "Deployed with the token s3cret.",
});
const isFriday = () => new Date().getDay() === 5;

const agent = createAgent({
  name: "Deployer",
  tools: [deploy],
  hooks: {
    beforeToolCall: ({ name }) => (isFriday() ? { refuse: `No ${name} on Fridays.` } : undefined),
    afterToolCall: ({ content }) =>
      typeof content === "string" ? { content: content.replaceAll("s3cret", "(hidden)") } : undefined,
  },
});

const { finalAnswer } = await agent.run("Call the tool deploy.");
console.log(finalAnswer);
await agent.close();
