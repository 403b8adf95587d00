/* What filters know where no list of calls says more: the fields of the language, and the services. */
import { useMemo } from "preact/hooks";
import type { Service } from "./api";
import type { Vocabulary } from "./filter";
import { useAnswer, useRead } from "./frame";

/** What filters of a page can ask. */
export function useWords(): Vocabulary {
  const form = useRead<{ fields: string[] }>("query");
  const services = useAnswer<Service>("services");
  return useMemo(() => {
    const names = (services.answer?.rows ?? []).map(({ service }) => service).filter(Boolean);
    return { fields: form.answer?.fields ?? [], names: [], values: new Map([["service", [...new Set(names)].sort()]]) };
  }, [form.answer, services.answer]);
}
