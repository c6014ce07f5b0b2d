import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import { createTemplateRenderer, findRuby } from '../bosh/template/create-template-renderer.ts';
import type { TemplateRenderer } from '../bosh/template/template-renderer.ts';
import { createCloud } from './cpi/cpi-client.ts';
import { createCpiRunner } from './cpi/cpi-runner.ts';
import { installCpi } from './install/cpi-installation.ts';
import { clearRun } from './install/installation-directory.ts';
import { defaultCpiDeadline, defaultInterruptGrace } from './options.ts';
import type { Run, Session } from './session.ts';
import { CallLog } from './state/call-log.ts';
import type { ValidInstallation } from './validate/validate-deployment.ts';

export interface InstalledCpi {
  readonly valid: ValidInstallation;
  readonly stemcellApiVersion: number;
}

/**
 * Installs the CPI while `action` runs. Afterwards removes those parts that contain credentials, even after
 * an error. `action` gets another renderer than the CPI's templates: templates can read the memory of their
 * Ruby process, and only the CPI's templates may see cloud_provider.properties.
 */
export async function withCpi<T>(
  session: Session,
  { valid, stemcellApiVersion }: InstalledCpi,
  action: (run: Run, renderer: TemplateRenderer) => Promise<T>,
): Promise<T> {
  const { stage, directory, ports, options, files, state, pending, children } = session;
  const { environment, uuid, clock, warn } = ports;
  const { signal, commandInVm, proxy } = options;
  const rubyPath = await findRuby(environment['PATH']);
  const cpiRenderer = createTemplateRenderer({ rubyPath, warn, signal });
  let renderer: TemplateRenderer | undefined;
  try {
    const installation = { directory, environment, signal, children, renderer: cpiRenderer, uuid };
    const executable = await installCpi(installation, stage, { ...valid, manifest: valid.manifest });
    await cpiRenderer.close();
    // A Ruby that failed to start is not tried again.
    const workingRuby = cpiRenderer.engine === 'ruby' ? rubyPath : undefined;
    renderer = createTemplateRenderer({ rubyPath: workingRuby, warn, signal });
    const { mbus, ca } = valid.manifest.cloudProvider;
    const directorId = state.state.director_id;
    const callLog = new CallLog(files.statePath, ports);
    callLog.limit();
    const cloud = createCloud({
      directorId,
      stemcellApiVersion,
      run: createCpiRunner(executable, {
        environment,
        deadline: options.cpiDeadline ?? defaultCpiDeadline,
        grace: options.interruptGrace ?? defaultInterruptGrace,
        signal,
        onStart: (pid, method) => children.onStart(pid, { doing: `CPI call '${method}'`, disposable: false }),
        onWaiting: warn,
        onRecord: (line) => callLog.append(line),
      }),
    });
    const agent = createAgentClient({ mbusUrl: mbus, ca, directorId, clock, uuid, signal, proxy });
    return await action(
      { cloud, agent, files, state, pending, clock, uuid, signal, warn, commandInVm },
      renderer,
    );
  } finally {
    try {
      await cpiRenderer.close();
      await renderer?.close();
    } finally {
      await stage.perform('Cleaning up rendered CPI jobs', () => clearRun(directory), { always: true });
    }
  }
}
