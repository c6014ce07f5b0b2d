import { progressPrefixes } from '../errors/text.ts';
import type { CallContext } from './call.ts';
import { parseConfig } from './config/config.ts';
import { resolveClusterAccess } from './config/resolve-cluster-access.ts';
import { openTransport } from '../kubernetes/client/open-transport.ts';
import { createConnectRetry, type RefusedRetryOptions } from '../kubernetes/client/retry.ts';
import { systemClock } from '../platform/clock.ts';
import { RestApi } from '../kubernetes/client/rest-api.ts';
import { issuedCredentials, type Access, serverAddress } from '../kubernetes/access/access.ts';
import { type Deadlines, deadlineOfMethod } from './config/deadlines.ts';

export interface OpenCallOptions {
  /** The parsed config file. */
  readonly file: unknown;
  /** The context of the request. */
  readonly context: Readonly<Record<string, unknown>>;
  /** The context that the call's cids or cloud_properties name. */
  readonly contextName: string | undefined;
  /** The environment of the process: proxies, and what exec plugins and the service account of a pod need. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly method: string;
  /** Prints a line for the operator while the call runs. */
  readonly reportProgress: (line: string) => void;
}

/** A call with its open connection. `close` lets the process end. */
export interface OpenCall {
  readonly call: CallContext;
  /** Returns the lines that the verb has logged so far. */
  readonly log: () => string;
  /** Returns the secrets that are not in the configuration: the credentials that requests were sent with. */
  readonly secrets: () => Promise<unknown[]>;
  readonly close: () => void;
}

/** Parses the configuration and prepares the connection. Sends no request; the verb sends the first one. */
export async function openCall(options: OpenCallOptions): Promise<OpenCall> {
  const { file, context, contextName, environment } = options;
  const config = parseConfig(file, context, contextName);
  const access = await resolveClusterAccess(config, environment);
  const transport = await openTransport(access, { timeoutMs: config.deadlines.request * 1000 });
  const ended = new AbortController();
  const retryRefused = createConnectRetry({
    ...retryLimits(options.method, config.deadlines),
    ...{ clock: systemClock, random: Math.random, signal: ended.signal },
    onWaiting: () => options.reportProgress(connectWaitMessage(access)),
  });
  const directorUuid = typeof context['director_uuid'] === 'string' ? context['director_uuid'] : undefined;
  const logLines: string[] = [];
  return {
    call: {
      api: new RestApi({ transport, retryRefused }),
      exec: async (command) => {
        const { runScript } = await import('../kubernetes/client/exec.ts');
        return retryRefused(() => runScript(access, { namespace: access.namespace, ...command }));
      },
      config,
      namespace: access.namespace,
      diskNamespace: config.kubernetes.diskNamespace ?? access.namespace,
      clock: systemClock,
      // the global object: loading node:crypto costs a call more than a millisecond
      newUuid: () => crypto.randomUUID(),
      directorUuid,
      log: (line) => void logLines.push(`${line}\n`),
      reportProgress: options.reportProgress,
    },
    log: () => logLines.join(''),
    secrets: () => issuedCredentials(access),
    close: () => {
      ended.abort();
      transport.close();
    },
  };
}

/**
 * Limits how long a server that refuses connections is tried again: not beyond the deadline of the method,
 * which begins now.
 */
function retryLimits(method: string, deadlines: Deadlines): Pick<RefusedRetryOptions, 'maxWaitMs' | 'until'> {
  const seconds = deadlineOfMethod(method, deadlines);
  const until = seconds === undefined ? undefined : systemClock.now() + seconds * 1000;
  return { maxWaitMs: deadlines.connect * 1000, until };
}

/** create-env prints lines that begin with this text (src/deploy/cpi/cpi-runner.ts). */
const connectWaitMessage = (access: Access): string =>
  `${progressPrefixes.waiting}the Kubernetes API at ${serverAddress(access)}, which refuses connections`;
