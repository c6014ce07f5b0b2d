import { usedCredentials } from '../kubernetes/access.ts';
import { systemClock } from '../kubernetes/clock.ts';
import { openTransport } from '../kubernetes/open-transport.ts';
import type { Transport } from '../kubernetes/transport.ts';
import { RestApi } from '../kubernetes/rest-api.ts';
import { accessOf } from './access.ts';
import type { Cloud } from './cloud.ts';
import type { CpiConfig } from './config.ts';
import { beginConfig } from './config.ts';

export interface SessionOptions {
  /** The parsed config file. */
  readonly file: unknown;
  /** Of the request. */
  readonly context: Readonly<Record<string, unknown>>;
  /** The context that the call's cids or cloud_properties name. */
  readonly contextName: string | undefined;
  /** Of the process: proxies, and what exec plugins and the service account of a pod need. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The call is sure to ask the API: the connection is made while its code is loaded. */
  readonly asks: boolean;
}

/** A verb's surroundings for one call; `close` lets the process end. */
export interface Session {
  readonly cloud: Cloud;
  /** What the verb noted so far. */
  readonly log: () => string;
  /** What else than the configuration is secret: the credentials that requests were sent with. */
  readonly secrets: () => Promise<unknown[]>;
  readonly close: () => void;
}

/** Parses the configuration and prepares the connection; no request is sent before a verb asks. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { file, context, contextName, environment } = options;
  const begun = beginConfig(file, context, contextName);
  const access = await accessOf(begun, environment);
  const transport = await openTransport(access, {
    connectNow: options.asks,
    timeoutMs: begun.deadlines.request * 1000,
  });
  // the rest is parsed while the server answers the handshake
  const config = configOrClose(begun.rest, transport);
  const directorUuid = typeof context['director_uuid'] === 'string' ? context['director_uuid'] : undefined;
  const notes: string[] = [];
  return {
    cloud: {
      api: new RestApi({ transport }),
      exec: async (command) => {
        const { runScript } = await import('../kubernetes/pod-script.ts');
        return runScript(access, { namespace: access.namespace, ...command });
      },
      config,
      namespace: access.namespace,
      clock: systemClock,
      // the global one: loading node:crypto costs a call more than a millisecond
      newUuid: () => crypto.randomUUID(),
      directorUuid,
      note: (line) => void notes.push(`${line}\n`),
    },
    log: () => notes.join(''),
    secrets: async () => [await usedCredentials(access)],
    close: () => {
      transport.close();
    },
  };
}

/** A connection that nobody gets would keep the process alive. */
function configOrClose(rest: () => CpiConfig, transport: Transport): CpiConfig {
  try {
    return rest();
  } catch (error) {
    transport.close();
    throw error;
  }
}
