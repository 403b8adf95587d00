"""A long trace for benchmarks: threads that run in slices, a fixed call graph, objects, collections, contended monitors."""

import random

from messages import IDS, message

EPOCH = 1204279200 * 10**9
PACKAGES = (
    "org/example/shop",
    "org/example/shop/cart",
    "org/example/store",
    "org/example/net",
    "org/example/text",
    "com/example/json",
)
NOUNS = (
    "Order",
    "Cart",
    "Item",
    "Price",
    "Cache",
    "Index",
    "Page",
    "Query",
    "Session",
    "Token",
    "Buffer",
    "Parser",
    "Pool",
    "Task",
    "Event",
)
ROLES = ("", "Service", "Factory", "Reader", "Writer", "Visitor", "Handler", "Store")
VERBS = (
    "get",
    "set",
    "find",
    "load",
    "parse",
    "write",
    "read",
    "next",
    "apply",
    "visit",
    "close",
    "open",
    "flush",
    "resolve",
    "merge",
)
SIGNATURES = ("()V", "()I", "(I)V", "(Ljava/lang/String;)Ljava/lang/Object;", "(JZ)Z", "([B)I")
MAX_DEPTH = 48
MIN_MESSAGES = 64

# An entry with the definitions of its class and its method, and the exit it will need.
LARGEST_STEP = 4


class Chance:
    """Draws from `random.random` alone, whose sequence Python keeps from one version to the next."""

    def __init__(self, seed):
        self.draw = random.Random(seed).random

    def below(self, n):
        return int(self.draw() * n)

    def pick(self, sequence):
        return sequence[int(self.draw() * len(sequence))]


class Method:
    def __init__(self, number, owner, chance):
        self.id = number
        self.owner = owner
        self.name = "-init-" if chance.draw() < 0.12 else chance.pick(VERBS) + chance.pick(NOUNS)
        self.signature = chance.pick(SIGNATURES)
        self.start = 20 + chance.below(900)
        self.end = self.start + chance.below(60)
        self.callees = ()
        self.cost = 20 + int(chance.draw() ** 4 * 20000)
        self.defined = False

    def frame(self):
        return "%s.%s%s" % (self.owner.name, self.name, self.signature)


class Class:
    def __init__(self, number, chance):
        self.id = number
        self.name = "%s/%s%s%d" % (chance.pick(PACKAGES), chance.pick(NOUNS), chance.pick(ROLES), number)
        self.defined = False


class Thread:
    def __init__(self, number, chance):
        self.id = number
        self.stack = []
        self.ticket = 0
        self.cpu = 0
        self.depth_wanted = 4 + chance.below(MAX_DEPTH - 4)


class Trace:
    """Yields messages as (id, values in wire order)."""

    def __init__(self, count, seed):
        self.count = count
        self.chance = Chance(seed)
        self.now = EPOCH
        self.pending = []
        self.emitted = 0
        self.open_frames = 0
        self.threads = []
        self.live = []
        self.next_object = 1000
        self.next_thread = 1
        chance = self.chance
        classes = [Class(n + 1, chance) for n in range(240)]
        self.methods = [Method(n + 1, chance.pick(classes), chance) for n in range(2400)]
        for method in self.methods:
            method.callees = tuple(chance.pick(self.methods) for _ in range(1 + chance.below(5)))
        self.roots = [chance.pick(self.methods) for _ in range(12)]

    def put(self, name, /, **fields):
        self.pending.append((IDS[name], message(name, **fields).values))

    def tick(self, step):
        self.now += 1 + self.chance.below(step)
        return self.now

    def open_session(self):
        self.put(
            "node", nodeId="node-1", hostname="bench.example.org", ipaddress="192.0.2.1", timezone=-60, time=self.now
        )
        self.put("processCreate", processId="process-1", pid=4711, nodeIdRef="node-1", time=self.tick(1000))
        self.put(
            "agentCreate",
            agentId="agent-1",
            processIdRef="process-1",
            agentName="org.eclipse.tptp.jvmti",
            agentType="Profiler",
            time=self.tick(1000),
            agentParameters="server=standalone,format=binary",
            version="2.000",
        )
        self.put("traceStart", traceId="trace-1", agentIdRef="agent-1", time=self.tick(1000))
        for pattern in ("java", "sun", "com/sun"):
            self.put(
                "filter",
                traceIdRef="trace-1",
                pattern=pattern,
                genericPattern="PREFIX",
                mode="EXCLUDE",
                methodPattern="*",
                methodMode="EXCLUDE",
            )
        self.put("option", key="TICKET", value="true")
        self.put("option", key="CPU_TIME", value="true")
        self.start_thread("main")
        self.put("runtimeInitDone", threadIdRef=1, time=self.tick(1000))

    def start_thread(self, name=None):
        number, self.next_thread = self.next_thread, self.next_thread + 1
        self.threads.append(Thread(number, self.chance))
        self.put(
            "threadStart",
            threadId=number,
            time=self.tick(5000),
            groupName="main",
            parentName="system",
            objIdRef=self.new_object(),
            threadName=name or "worker-%d" % number,
        )

    def new_object(self):
        self.next_object += 1
        return self.next_object

    def define(self, method):
        if not method.owner.defined:
            method.owner.defined = True
            source = method.owner.name.rsplit("/", 1)[1] + ".java"
            self.put("classDef", time=self.now, classId=method.owner.id, sourceName=source, name=method.owner.name)
        if not method.defined:
            method.defined = True
            self.put(
                "methodDef",
                name=method.name,
                signature=method.signature,
                startLineNumber=method.start,
                endLineNumber=method.end,
                classIdRef=method.owner.id,
                methodId=method.id,
            )

    def enter(self, thread):
        method = self.chance.pick(thread.stack[-1][0].callees if thread.stack else self.roots)
        if not method.defined:
            self.define(method)
        thread.ticket += 1
        thread.stack.append((method, thread.ticket))
        self.open_frames += 1
        # The two messages that make nearly all of a trace skip the dictionary; the order is the table's.
        self.pending.append(
            (
                1015,
                (
                    0,
                    thread.id,
                    self.tick(200),
                    method.id,
                    thread.ticket,
                    0,
                    method.owner.id,
                    0,
                    0,
                    len(thread.stack),
                    "",
                    "",
                ),
            )
        )

    def leave(self, thread):
        method, ticket = thread.stack.pop()
        self.open_frames -= 1
        before = self.now
        now = self.tick(method.cost)
        thread.cpu += (now - before) * 7 // 8
        self.pending.append(
            (1016, (0, thread.id, now, ticket, thread.cpu, method.id, 0, 0, 0, method.owner.id, "", "", ""))
        )

    def allocate(self, thread):
        method = thread.stack[-1][0]
        number = self.new_object()
        size = 16 + 8 * self.chance.below(64)
        self.put(
            "objAlloc",
            threadIdRef=thread.id,
            time=self.tick(60),
            isArray=int(self.chance.draw() < 0.3),
            objId=number,
            size=size,
            lineNumber=method.start + 1,
            methodIdRef=method.id,
            classIdRef=method.owner.id,
        )
        self.live.append((number, size))

    def collect(self):
        self.put("gcStart", time=self.tick(3000))
        kept = []
        for number, size in self.live:
            if self.chance.draw() < 0.9:
                self.put("objFree", time=self.tick(40), objIdRef=number, objAge=1 + self.chance.below(3))
            else:
                kept.append((number, size))
        self.live = kept
        self.put(
            "gcFinish",
            time=self.tick(3000),
            totalObjSpace=1 << 20,
            usedObjSpace=sum(size for _, size in kept),
            usedObjs=len(kept),
        )

    def contend(self, thread):
        frames = thread.stack[:-9:-1]
        where = dict(
            threadIdRef=thread.id,
            objIdRef=500 + self.chance.below(8),
            stackMethods=tuple(m.frame() for m, _ in frames),
            stackLines=tuple(m.start + 2 for m, _ in frames),
        )
        owner = self.chance.pick(self.threads).id
        self.put("monContendedEnter", time=self.tick(100), threadOwner=owner, **where)
        self.put("monContendedEntered", time=self.tick(500000), **where)

    def step(self, thread):
        draw = self.chance.draw()
        if not thread.stack:
            self.enter(thread)
        elif draw < 0.08:
            self.allocate(thread)
        elif draw < 0.0805:
            self.contend(thread)
        elif draw < (0.57 if len(thread.stack) < thread.depth_wanted else 0.35) and len(thread.stack) < MAX_DEPTH:
            self.enter(thread)
        else:
            self.leave(thread)

    def close_session(self):
        for thread in reversed(self.threads):
            while thread.stack:
                self.leave(thread)
            self.put("threadEnd", threadIdRef=thread.id, time=self.tick(1000))
        self.put("runtimeShutdown", time=self.tick(1000))
        self.put("traceEnd", traceIdRef="trace-1", time=self.tick(1000))
        self.put("agentDestroy", agentIdRef="agent-1", time=self.tick(1000))

    def flush(self):
        batch, self.pending = self.pending, []
        self.emitted += len(batch)
        return batch

    def room(self, wanted):
        """Whether so many messages fit before those that end the trace."""
        closing = self.open_frames + len(self.threads) + 3
        return self.emitted + len(self.pending) + closing + wanted <= self.count

    def __iter__(self):
        self.open_session()
        yield from self.flush()
        while self.room(LARGEST_STEP):
            if self.chance.draw() < 0.01 and len(self.threads) < 16:
                self.start_thread()
            if len(self.live) > 1500 and self.room(len(self.live) + 2):
                self.collect()
            thread = self.chance.pick(self.threads)
            for _ in range(1 + self.chance.below(40)):
                if self.room(LARGEST_STEP):
                    self.step(thread)
            yield from self.flush()
        while self.room(1):
            self.put("objAlloc", threadIdRef=1, time=self.tick(60), objId=self.new_object(), size=16)
        self.close_session()
        yield from self.flush()
