/* Services by their names: where several namespaces have one of a name, the namespace stands before it. */
import { say } from "./language";

/** What sends: a service, or a capture of one. */
interface Sender {
  namespace: string;
  service: string;
}

/** A service as the address and the API name it: `NAMESPACE/NAME` where its name alone is not enough. */
export function keyOfService(one: Sender, all: readonly Sender[]): string {
  const namesakes = new Set(all.filter(({ service }) => service === one.service).map(({ namespace }) => namespace));
  return one.service && namesakes.size < 2 ? one.service : `${one.namespace}/${one.service}`;
}

/** Returns true if a sender is one of these services; of none it always is. */
export function isOfServices(wanted: readonly string[], { namespace, service }: Sender): boolean {
  const names = [`${namespace}/${service}`, ...(service ? [service] : [])];
  return !wanted.some(Boolean) || names.some((name) => wanted.includes(name));
}

/** The keys of services, each once, by what they are called. */
export function serviceKeys(all: readonly Sender[]): string[] {
  return [...new Set(all.map((one) => keyOfService(one, all)))].sort();
}

/** What people call the service of a key. */
export function serviceTitle(key: string): string {
  if (!key.endsWith("/")) return key;
  return key === "/" ? say("unnamed") : `${key}${say("unnamed")}`;
}
