import type { RequestListener } from 'node:http';
import type { DriverLog } from '../driver-log.ts';
import type { DriverMetrics } from '../metrics.ts';

export interface AdminPorts {
  /** Unmounts all volumes and makes the process stop soon. Returns an error text, or '' on success. */
  readonly evacuate: () => Promise<string>;
  readonly metrics: DriverMetrics;
  readonly log: DriverLog;
}

/** Returns the handler of the old drivers' admin API, which drain scripts call with curl, and of /metrics. */
export function adminRequestHandler({ evacuate, metrics, log }: AdminPorts): RequestListener {
  const answers: Readonly<Record<string, () => Promise<{ status: number; type: string; text: string }>>> = {
    '/ping': async () => asJson(''),
    '/evacuate': async () => asJson(await evacuate()),
    '/metrics': async () => ({ status: 200, type: metrics.contentType, text: await metrics.text() }),
  };
  return (request, response) => {
    const path = request.url ?? '';
    const answer = request.method === 'GET' && Object.hasOwn(answers, path) ? answers[path] : undefined;
    const sent =
      answer?.() ?? Promise.resolve({ status: 404, type: 'text/plain', text: '404 page not found\n' });
    sent.then(
      ({ status, type, text }) => response.writeHead(status, { 'content-type': type }).end(text),
      (error: unknown) => {
        log.error('admin', error, { path });
        const { status, type, text } = asJson('a fault in the driver; its log says more');
        response.writeHead(status, { 'content-type': type }).end(text);
      },
    );
  };
}

const asJson = (Err: string): { status: number; type: string; text: string } => ({
  status: Err === '' ? 200 : 500,
  type: 'application/json',
  text: JSON.stringify({ Err }),
});
