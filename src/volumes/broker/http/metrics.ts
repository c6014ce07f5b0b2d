import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';

/** The metrics that /metrics returns in the Prometheus text format. */
export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** Counts one request. `operation` is the method and the route, so that the label has few values. */
  count(operation: string, status: number, milliseconds: number): void;
}

/** Returns the metrics of one broker and of its process. */
export function brokerMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'volume_broker_requests_total',
    help: 'Requests that were answered, by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'volume_broker_request_duration_seconds',
    help: 'From the request to its answer, by operation',
    labelNames: ['operation'],
    registers: [registry],
  });
  return {
    contentType: registry.contentType,
    text: async () => registry.metrics(),
    count: (operation, status, milliseconds) => {
      requests.inc({ operation, status });
      seconds.observe({ operation }, milliseconds / 1000);
    },
  };
}
