import { startPage, startParts } from "../shared/part";
import { startTimeline } from "../timeline/input";

startPage();
startParts("timeline", startTimeline);
