import { withContext } from './error-chain.ts';
import { withScriptErrors } from './instance/failed-script.ts';
import { waitUntilRunning } from './instance/update-instance.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { withAgent, type AgentAction } from './with-agent.ts';

/** Starts the jobs of the deployed VM and waits until they run. For errors see withAgent. */
export async function startEnv(options: EnvOptions, ports: EnvPorts): Promise<void> {
  await withAgent(options, ports, { name: 'starting deployment', action: startJobs });
}

const instance = 'unknown/0';

const startJobs: AgentAction = async (run, stage, { updateWatchTime: watchTime }) => {
  const { agent } = run;
  const script = (name: 'pre-start' | 'post-start'): Promise<void> =>
    stage.perform(`Running the ${name} scripts '${instance}'`, () =>
      withScriptErrors(run, { step: `Running the ${name} script`, name }, () => agent.runScript(name)),
    );
  await script('pre-start');
  await stage.perform(`Starting the agent '${instance}'`, () =>
    withContext('Starting the agent', () => agent.start()),
  );
  await stage.perform(`Waiting for instance '${instance}' to be running`, () =>
    waitUntilRunning(run, { instance, watchTime }),
  );
  await script('post-start');
};
